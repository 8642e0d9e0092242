"""Leaders ask a transaction's coordinator whether a partition belongs to it, or to add it.

That happens once for each partition of a transaction, before its first record is appended. Without
it, a record that comes late would open a transaction that nobody ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import NamedTuple

from penstock.api.broker import Broker
from penstock.api.verifying import Codes
from penstock.coordination.transaction.state import Identity, Place
from penstock.errors import ErrorCode, Malformed, Refused
from penstock.server.asking import Asking
from penstock.server.asking_itself import AskingItself
from penstock.server.door import Door
from penstock.server.lines import Lines, Portion, portions
from penstock.wire.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from penstock.world.ports import Network

log = logging.getLogger(__name__)

VERSION = 5
PAUSES_MS = (1, 2, 4, 8, 16, 32, 64, 128, 0)
"""A client would wait for longer than most transactions take to end."""


class Question(NamedTuple):
    asked: AddPartitionsToTxnTransaction
    answer: asyncio.Future[Codes]
    weight: int


class Verifying:
    def __init__(self, network: Network, door: Door) -> None:
        self._broker: Broker = door.broker
        self._asking = Asking(network, door, AskingItself(door))
        self._lines: Lines[Question] = Lines(self._ask)

    async def stop(self) -> None:
        await self._lines.stop()
        self._asking.close()

    async def verify(
        self, name: str, writer: Identity, places: Sequence[Place], *, add: bool
    ) -> Codes:
        """By partition, what the coordinator says; if it has still to end the last transaction, a
        little later."""
        for pause_ms in PAUSES_MS:
            codes = await self._verified(name, writer, places, add)
            if ErrorCode.CONCURRENT_TRANSACTIONS not in codes.values():
                return codes
            await asyncio.sleep(pause_ms / 1000)
        return codes

    async def _verified(
        self, name: str, writer: Identity, places: Sequence[Place], add: bool
    ) -> Codes:
        try:
            _, record = self._broker.transactions.place(name)
        except Refused as refused:
            return dict.fromkeys(places, refused.code)
        if record.leader < 0:
            return dict.fromkeys(places, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        codes = dict.fromkeys(places, int(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        questions = [_question(name, writer, some, add) for some in portions(sorted(places))]
        for each in questions:
            self._lines.add(record.leader, each)
        for each in questions:
            codes.update(await each.answer)
        return codes

    async def _ask(self, node_id: int, questions: list[Question]) -> None:
        wanted = [each for each in questions if not each.answer.done()]
        request = AddPartitionsToTxnRequest(transactions=[each.asked for each in wanted])
        try:
            answers = await self._asking.ask(
                node_id, request, VERSION, AddPartitionsToTxnResponse, _errors
            )
        except (OSError, TimeoutError, Malformed, Refused) as problem:
            log.warning("broker %d does not answer for its transactions: %s", node_id, problem)
            answers = []
        except BaseException:
            answers = []
            raise
        finally:
            for number, question in enumerate(wanted):
                _give(question, answers[number] if number < len(answers) else None)


def _question(name: str, writer: Identity, places: Portion, add: bool) -> Question:
    topics: dict[str, list[int]] = {}
    for topic, index in places:
        topics.setdefault(topic, []).append(index)
    asked = AddPartitionsToTxnTransaction(
        name,
        writer.producer_id,
        writer.epoch,
        not add,
        [AddPartitionsToTxnTopic(topic, indexes) for topic, indexes in topics.items()],
    )
    answer: asyncio.Future[Codes] = asyncio.get_running_loop().create_future()
    return Question(asked, answer, places.weight + len(name.encode()))


def _errors(response: AddPartitionsToTxnResponse) -> list[Codes]:
    if response.error_code:
        raise Refused(ErrorCode(response.error_code), "it refuses to look")
    return [
        {
            (topic.name, part.partition_index): part.partition_error_code
            for topic in result.topic_results
            for part in topic.results_by_partition
        }
        for result in response.results_by_transaction
    ]


def _give(question: Question, errors: Codes | None) -> None:
    if question.answer.done():
        return
    question.answer.set_result({} if errors is None else errors)
