"""Where partitions end, as their leaders know it: high watermarks, of many partitions at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.api.broker import Broker
from penstock.api.sharing.admin import Place
from penstock.errors import Malformed, Refused
from penstock.server.asking import Asking
from penstock.server.asking_itself import AskingItself
from penstock.server.door import Door
from penstock.server.lines import Lines, Portion, portions
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from penstock.world.ports import Network

log = logging.getLogger(__name__)

VERSION = 10
LATEST = -1
CLIENT = -1
"""As a replica id."""
WAIT_MS_MAX = 10_000
"""For all of them, the time in line with it."""


@dataclass(slots=True, eq=False)
class Question:
    places: Portion
    answer: asyncio.Future[dict[Place, int]]

    @property
    def weight(self) -> int:
        return self.places.weight

    def give(self, ends: dict[Place, int]) -> None:
        if not self.answer.done():
            self.answer.set_result(ends)


class EndOffsets:
    def __init__(self, network: Network, door: Door) -> None:
        self._broker: Broker = door.broker
        self._asking = Asking(network, door, AskingItself(door))
        self._lines: Lines[Question] = Lines(self._ask)

    async def stop(self) -> None:
        await self._lines.stop()
        self._asking.close()

    async def of(self, places: Iterable[Place]) -> dict[Place, int]:
        """Of partitions whose leaders answer in time."""
        questions = list(self._questions(places))
        ends: dict[Place, int] = {}
        try:
            async with asyncio.timeout(WAIT_MS_MAX / 1000):
                for each in questions:
                    ends.update(await each.answer)
        except TimeoutError:
            for each in questions:
                each.answer.cancel()
        return ends

    def _questions(self, places: Iterable[Place]) -> Iterable[Question]:
        by_leader: dict[int, list[Place]] = {}
        for name, index in sorted(places):
            topic = self._broker.image.topic(name)
            record = topic.partition(index) if topic is not None else None
            if record is not None and record.leader >= 0:
                by_leader.setdefault(record.leader, []).append((name, index))
        for leader, led in by_leader.items():
            for portion in portions(led):
                question = Question(portion, asyncio.get_running_loop().create_future())
                self._lines.add(leader, question)
                yield question

    async def _ask(self, node_id: int, questions: list[Question]) -> None:
        wanted = [each for each in questions if not each.answer.done()]
        ends: dict[Place, int] = {}
        try:
            if wanted:
                ends = await self._asking.ask(
                    node_id, _request(wanted), VERSION, ListOffsetsResponse, _ends_in
                )
        except (OSError, TimeoutError, Malformed, Refused) as problem:
            log.warning("broker %d does not say where its partitions end: %s", node_id, problem)
        finally:
            for each in wanted:
                each.give({place: ends[place] for place in each.places if place in ends})


def _request(questions: Iterable[Question]) -> ListOffsetsRequest:
    topics: dict[str, list[Any]] = {}
    for name, index in {place: None for each in questions for place in each.places}:
        topics.setdefault(name, []).append(ListOffsetsPartition(index, timestamp=LATEST))
    return ListOffsetsRequest(
        CLIENT, topics=[ListOffsetsTopic(name, parts) for name, parts in topics.items()]
    )


def _ends_in(answer: ListOffsetsResponse) -> dict[Place, int]:
    return {
        (topic.name, part.partition_index): part.offset
        for topic in answer.topics
        for part in topic.partitions
        if not part.error_code
    }
