"""One life of a transactional producer, from its InitProducerId until it is shut out or ends.

What it was not answered it asks again over another connection, while the first may still arrive.
Where it gives up a record, it aborts; a producer that keeps its epoch asks for the next one then,
as clients do, because it does not know what of it is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar, TypeVar

from penstock.coordination.transaction.state import NOBODY, Identity
from penstock.sim.client import RETRY_S, Unreached
from penstock.sim.outcome import Outcome
from penstock.sim.transactions.asking import OF_GROUP, OF_TRANSACTION, Asking
from penstock.sim.transactions.batches import Batches, HeadersOf, without_headers
from penstock.sim.transactions.history import Transaction
from penstock.sim.transactions.topics import GROUP, SOURCE
from penstock.sim.transactions.verdicts import Fenced, MustAbort, judge
from penstock.wire.codec import Message
from penstock.wire.messages.k22_init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from penstock.wire.messages.k26_end_txn import EndTxnRequest, EndTxnResponse
from penstock.wire.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

M = TypeVar("M", bound=Message)
R = TypeVar("R")

TIMEOUT_MS = (2000, 6000)


class Session:
    init_version: ClassVar[int]
    produce_versions: ClassVar[tuple[int, ...]]
    offsets_version: ClassVar[int]
    end_version: ClassVar[int]

    def __init__(self, asking: Asking, name: str, topic_ids: Mapping[str, bytes]) -> None:
        self.asking = asking
        self.client = asking.client
        self.name = name
        self.timeout_ms = self.client.random.randint(*TIMEOUT_MS)
        self.identity = NOBODY
        self._batches = Batches(asking, name, topic_ids)
        self._has_begun = False
        """Whether the coordinator may know of a transaction."""

    async def init(self, known: Identity = NOBODY) -> None:
        request = InitProducerIdRequest(self.name, self.timeout_ms, *known)

        async def ask() -> None:
            answer = await self.ask(request, self.init_version, InitProducerIdResponse)
            judge(self.asking, answer.error_code, request)
            self._become(Identity(answer.producer_id, answer.producer_epoch))

        await self.until_answered(ask)
        self._has_begun = False

    def _become(self, identity: Identity) -> None:
        if identity != self.identity:
            self.client.note(f"is {identity.producer_id} of epoch {identity.epoch}")
            self.identity = identity
            self._batches.begin_epoch(identity)

    async def ask(self, request: Message, version: int, kind: type[M]) -> M:
        """The transaction's coordinator."""
        return await self.asking.ask_coordinator(OF_TRANSACTION, self.name, request, version, kind)

    async def until_answered(
        self, ask: Callable[[], Awaitable[R]], *, may_give_up: bool = False
    ) -> R:
        random, habits = self.client.random, self.asking.habits
        while True:
            try:
                return await ask()
            except Unreached as problem:
                self.client.note(f"asks again: {problem}")
                is_restless = may_give_up and not self.asking.is_steady
                if is_restless and random.random() < habits.gives_up:
                    raise MustAbort(str(problem)) from problem
            self.client.forget_leaders()
            await asyncio.sleep(RETRY_S * random.random())

    # In a transaction

    async def write(
        self, topic: str, values: Mapping[int, list[int]], headers: HeadersOf = without_headers
    ) -> None:
        """Values by partition. Raises MustAbort and Fenced."""
        await self.add(topic, values)
        self._has_begun = True
        version = self.client.random.choice(self.produce_versions)
        batches = self._batches
        batches.add(topic, values, headers)
        await self.until_answered(lambda: batches.send(version), may_give_up=True)

    async def commit_offsets(self, transaction: Transaction) -> None:
        await self.add_offsets()
        self._has_begun = True
        parts = [
            TxnOffsetCommitRequestPartition(
                partition, offset, committed_metadata=str(transaction.number)
            )
            for partition, offset in transaction.offsets.items()
        ]
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=GROUP,
            producer_id=self.identity.producer_id,
            producer_epoch=self.identity.epoch,
            topics=[TxnOffsetCommitRequestTopic(SOURCE, parts)],
        )

        async def ask() -> None:
            answer = await self.asking.ask_coordinator(
                OF_GROUP, GROUP, request, self.offsets_version, TxnOffsetCommitResponse
            )
            for told in answer.topics[0].partitions:
                judge(self.asking, told.error_code, request, may_abort=True)

        try:
            await self.until_answered(ask, may_give_up=True)
        except MustAbort:
            self._batches.is_doubtful = True
            raise

    async def end(self, transaction: Transaction, *, is_commit: bool) -> None:
        """What has come of it stands in the transaction. Raises Fenced."""
        if self._has_begun:
            await self._end(transaction, is_commit)
        elif is_commit:
            transaction.outcome = Outcome.OK
        self._has_begun = False
        self.client.note(str(transaction))

    async def _end(self, transaction: Transaction, is_commit: bool) -> None:
        request = EndTxnRequest(self.name, *self.identity, is_commit)
        self.client.note(f"{'commits' if is_commit else 'aborts'} {transaction.number}")
        asked = 0

        async def ask() -> None:
            nonlocal asked
            if is_commit:
                transaction.outcome = Outcome.UNKNOWN
            asked += 1
            answer = await self.ask(request, self.end_version, EndTxnResponse)
            try:
                judge(self.asking, answer.error_code, request, may_abort=is_commit)
            except (Fenced, MustAbort):
                if asked == 1:
                    transaction.outcome = Outcome.FAILED
                raise
            self._become(self.told(answer))

        try:
            await self.until_answered(ask)
        except MustAbort as problem:  # which has been done, as it took too long
            raise Fenced from problem
        if is_commit:
            transaction.outcome = Outcome.OK
        await self.ended()

    # What the two kinds differ in

    async def add(self, topic: str, partitions: Mapping[int, object]) -> None:
        """Tell the coordinator what is going to be written to."""

    async def add_offsets(self) -> None:
        """Tell it that the group's offsets are."""

    def told(self, answer: EndTxnResponse) -> Identity:
        """Who it is after the end of a transaction."""
        raise NotImplementedError

    async def ended(self) -> None:
        """What is to be done before the next transaction."""
