"""A broker that looks after transactions and groups, and is the leader of all that they write to.

What brokers tell each other goes through the same handlers as over the network: questions whether a
partition belongs to a transaction are answered at once, ends are told when the test says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tests.api.desk import Desk
from tests.api.grouping import GROUP, Asked, Room
from tests.raw_client import a_batch

from penstock.api.call import Call
from penstock.api.outcome import Change, Resume
from penstock.api.shard import Shard
from penstock.api.trust import Client
from penstock.api.verifying import Codes
from penstock.coordination.transaction.ending import complete
from penstock.coordination.transaction.phases import Phase
from penstock.coordination.transaction.state import Identity, Place, State, Transaction
from penstock.errors import ErrorCode, Refused
from penstock.metadata.internal_topics import TRANSACTIONS
from penstock.server.ending_transactions import VERSION as MARKERS_VERSION
from penstock.server.steps import carry_out, wait_on
from penstock.server.telling import Ending
from penstock.server.verifying import VERSION as VERIFY_VERSION
from penstock.server.verifying import _errors
from penstock.wire.codec import Message
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from penstock.wire.messages.k10_find_coordinator import FindCoordinatorRequest
from penstock.wire.messages.k22_init_producer_id import InitProducerIdRequest
from penstock.wire.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from penstock.wire.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from penstock.wire.messages.k26_end_txn import EndTxnRequest
from penstock.wire.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from penstock.wire.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

NAME = "payments"
TIMEOUT_MS = 60_000
SETTINGS = {"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "2"}
BROKER = Client("peer", broker_id=2)


class Office(Room):
    def __init__(self, desk: Desk) -> None:
        self.to_load: list[Shard[Transaction]] = []
        self.on_verify: Callable[[], None] = lambda: None
        """Happens while the coordinator is asked."""
        self.on_still_ending: Callable[[], None] | None = None
        """Happens when the last transaction is still being ended; then it is asked again."""
        super().__init__(desk)
        desk.broker.transactions.clock = self.clock
        desk.broker.transactions.on_new_shard = self.to_load.append
        desk.broker.verify = self.verify
        if desk.image.topic(TRANSACTIONS) is None:
            desk.ask(FindCoordinatorRequest(key=NAME, key_type=1), 1)
        desk.broker.transactions.follow()

    def load(self) -> None:
        super().load()
        while self.to_load:
            steps = self.to_load.pop().load()
            asyncio.run(carry_out(partial(wait_on, self.desk.disk), steps))

    def restart(self) -> Office:
        return Office(self.desk.restart())

    # -- what brokers do

    async def verify(
        self, name: str, writer: Identity, places: Sequence[Place], *, add: bool
    ) -> Codes:
        topics = [AddPartitionsToTxnTopic(topic, [index]) for topic, index in places]
        asked = AddPartitionsToTxnTransaction(name, *writer, not add, topics)
        call = self.desk.call(AddPartitionsToTxnRequest(transactions=[asked]), VERIFY_VERSION)
        call.client = BROKER
        told = Asked(self.desk, call, call.api.handler(self.desk.broker, call.request, call))
        self.sync()
        (codes,) = _errors(told.answer)
        if ErrorCode.CONCURRENT_TRANSACTIONS in codes.values() and self.on_still_ending:
            self.on_still_ending()
            return await self.verify(name, writer, places, add=add)
        self.on_verify()
        return codes

    def finish(self) -> None:
        """Partitions are told of the ends that were decided, which are complete then."""
        self.sync()
        for shard in self.desk.broker.transactions.shards.values():
            for transaction in list(shard.kept):
                state = transaction.state
                if state is not None and state.phase.is_prepared:
                    marker = Ending(shard, transaction, state).marker(list(state.partitions))
                    self.tell_markers(marker)
                    shard.look_after(transaction, complete)
                    self.desk.broker.endings.over(transaction.name)
        self.write_out()
        self.sync()

    def tell_markers(self, marker: WritableTxnMarker, client: Client = BROKER) -> dict[Place, int]:
        """By partition, what is said of it."""
        asked = self.ask(WriteTxnMarkersRequest([marker]), MARKERS_VERSION, client=client)
        self.sync()
        return {
            (topic.name, part.partition_index): part.error_code
            for topic in asked.answer.markers[0].topics
            for part in topic.partitions
        }

    # -- what clients do

    def ask(
        self, request: Message, version: int | None = None, *, client: Client | None = None
    ) -> Asked:
        call = self.desk.call(request, version)
        call.client = client or Client("peer")
        call.now_ms = self.clock.now_ms()
        outcome = self._unwound(
            call, lambda: call.api.handler(self.desk.broker, call.request, call)
        )
        asked = Asked(self.desk, call, outcome)
        self.write_out()
        return asked

    def _unwound(self, call: Call, begin: Callable[[], Any]) -> Any:
        try:
            outcome = begin()
            while isinstance(outcome, Change | Resume):
                if isinstance(outcome, Change):
                    outcome = self.desk._changed(outcome)
                    self.groups.follow()
                else:
                    outcome = outcome.then(asyncio.run(_awaited(outcome)))
        except Refused as refused:
            return call.failure(refused)
        return outcome

    def tell(
        self, request: Message, version: int | None = None, *, client: Client | None = None
    ) -> Any:
        asked = self.ask(request, version, client=client)
        self.sync()
        return asked.answer

    @property
    def state(self) -> State:
        transaction = self.desk.broker.transactions.shard(NAME).kept.get(NAME)
        assert transaction is not None
        assert transaction.state is not None
        return transaction.state

    @property
    def phase(self) -> Phase:
        return self.state.phase

    def begun(self) -> Identity:
        answer = self.tell(init())
        assert answer.error_code == 0
        return Identity(answer.producer_id, answer.producer_epoch)

    def opened(self, *partitions: int) -> Identity:
        """A transaction with partitions of orders."""
        writer = self.begun()
        self.tell(add(writer, *(partitions or (0,))), 3)
        return writer

    def wrote(self, writer: Identity, partition: int = 0, *, sequence: int = 0) -> int:
        """What is said of a batch of an old client."""
        return code_of(self.tell(produce(writer, partition, sequence=sequence), 11))


async def _awaited(resume: Resume[Any]) -> Any:
    return await resume.work()


def code_of(answer: Any) -> int:
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def init(known: Identity = Identity(-1, -1), **fields: Any) -> InitProducerIdRequest:  # noqa: B008
    fields.setdefault("transactional_id", NAME)
    fields.setdefault("transaction_timeout_ms", TIMEOUT_MS)
    return InitProducerIdRequest(
        producer_id=known.producer_id, producer_epoch=known.epoch, **fields
    )


def add(
    writer: Identity, *partitions: int, topic: str = "orders", name: str = NAME
) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=writer.producer_id,
        v3_and_below_producer_epoch=writer.epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(topic, list(partitions))],
    )


def add_offsets(writer: Identity, group: str = GROUP) -> AddOffsetsToTxnRequest:
    return AddOffsetsToTxnRequest(NAME, writer.producer_id, writer.epoch, group)


def end(writer: Identity, *, commit: bool = True) -> EndTxnRequest:
    return EndTxnRequest(NAME, writer.producer_id, writer.epoch, commit)


def batch_of(writer: Identity, *, sequence: int = 0, transactional: bool = True) -> bytes:
    return a_batch(
        b"value",
        producer_id=writer.producer_id,
        producer_epoch=writer.epoch,
        base_sequence=sequence,
        transactional=transactional,
    )


def produce(
    writer: Identity, *partitions: int, sequence: int = 0, name: str | None = NAME
) -> ProduceRequest:
    parts = [
        PartitionProduceData(index, batch_of(writer, sequence=sequence))
        for index in partitions or (0,)
    ]
    return ProduceRequest(name, -1, 30_000, [TopicProduceData("orders", partition_data=parts)])


def commit_offsets(
    writer: Identity, offset: int = 5, *, partitions: Sequence[int] = (0,), **fields: Any
) -> TxnOffsetCommitRequest:
    fields.setdefault("group_id", GROUP)
    parts = [TxnOffsetCommitRequestPartition(index, offset) for index in partitions]
    return TxnOffsetCommitRequest(
        transactional_id=NAME,
        producer_id=writer.producer_id,
        producer_epoch=writer.epoch,
        topics=[TxnOffsetCommitRequestTopic("orders", parts)],
        **fields,
    )


def marker(
    writer: Identity, *places: Place, commit: bool = True, epoch: int = 1, version: int = 1
) -> WritableTxnMarker:
    """`epoch` is the coordinator's."""
    topics = [WritableTxnMarkerTopic(topic, [index]) for topic, index in places]
    return WritableTxnMarker(*writer, commit, topics, epoch, version)
