"""A simulated producer: idempotent, acks=all, several batches under way, and never giving up.

What it has not been told of it sends again, in the same batches and with the same sequence numbers,
so that no fault may lose, double or reorder anything.

In three things it is like librdkafka. After a failure it at times sends what comes behind the first
batch, and that one later. What was sent before a batch that is acknowledged counts as acknowledged
too. And it must not be told of a gap: it would begin a new epoch, and double what it has not been
told of.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from penstock.errors import ErrorCode
from penstock.sim.client import RETRY_S, SimClient, Unreached, answered
from penstock.sim.history import History, Send
from penstock.sim.outcome import Outcome
from penstock.sim.world import BEGINNING_MS
from penstock.wire.batch_builder import build_batch
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from penstock.wire.messages.k22_init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from penstock.wire.records import Record

PRODUCE_VERSION, INIT_VERSION = 9, 3
UNDER_WAY_MAX = 5
RECORDS_MAX = 4
PADDING_MAX = 600
PAUSE_S_MAX = 1.2
HASTY = 0.3
"""How often what has failed is left out when the rest is sent again."""
RETRIABLE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.BROKER_NOT_AVAILABLE,
    }
)


@dataclass(slots=True)
class Batch:
    sends: list[Send]
    data: bytes


class SimProducer:
    """One lane for each partition; `stop` lets it finish what it has begun."""

    def __init__(self, client: SimClient, history: History, topic: str, partitions: int) -> None:
        self._client = client
        self._history = history
        self._topic = topic
        self._id, self._epoch = -1, -1
        self._stopping = False
        self.tasks = [client.loop.create_task(self._run(partitions))]

    @property
    def is_done(self) -> bool:
        return all(task.done() for task in self.tasks)

    def stop(self) -> None:
        self._stopping = True

    async def _run(self, partitions: int) -> None:
        while self._id < 0:
            try:
                request = InitProducerIdRequest(transactional_id=None)
                answer = await self._client.ask_any(request, INIT_VERSION, InitProducerIdResponse)
                if answer.error_code == ErrorCode.NONE:
                    self._id, self._epoch = answer.producer_id, answer.producer_epoch
                    continue
            except Unreached:
                pass
            await asyncio.sleep(RETRY_S)
        await asyncio.gather(*(self._lane(partition) for partition in range(partitions)))

    async def _lane(self, partition: int) -> None:
        unacknowledged: deque[Batch] = deque()
        sequence, left_out = 0, 0
        random = self._client.random
        while not self._stopping or unacknowledged:
            if not self._stopping:
                wanted = random.randint(1, UNDER_WAY_MAX)
                while len(unacknowledged) < wanted:
                    batch = self._batch(partition, sequence)
                    sequence += len(batch.sends)
                    unacknowledged.append(batch)
            if await self._send_all(partition, unacknowledged, left_out):
                left_out = 0
                await asyncio.sleep(random.random() * PAUSE_S_MAX)
            else:
                left_out = int(not left_out and random.random() < HASTY)
                self._client.forget_leaders()
                await asyncio.sleep(RETRY_S * (1 + random.random()))

    def _batch(self, partition: int, sequence: int) -> Batch:
        random = self._client.random
        count = random.randint(1, RECORDS_MAX)
        sends = [self._history.send(self._client.name, partition) for _ in range(count)]
        records = [
            Record(number, BEGINNING_MS, None, b"%d %s" % (send.value, b"." * self._padding()))
            for number, send in enumerate(sends)
        ]
        data = build_batch(
            records,
            producer_id=self._id,
            producer_epoch=self._epoch,
            base_sequence=sequence,
        )
        return Batch(sends, bytes(data))

    def _padding(self) -> int:
        return self._client.random.randrange(PADDING_MAX)

    async def _send_all(self, partition: int, batches: deque[Batch], left_out: int) -> bool:
        """Whether all were acknowledged; those that were are no longer in the queue."""
        try:
            exchange = await self._client.leader(self._topic, partition)
        except Unreached:
            return False
        sent = list(batches)[left_out:]
        asked = [
            exchange.ask(self._request(partition, batch), PRODUCE_VERSION, ProduceResponse)
            for batch in sent
        ]
        answers = await asyncio.gather(
            *(answered(exchange, each) for each in asked), return_exceptions=True
        )
        for batch, answer in zip(sent, answers, strict=True):
            if isinstance(answer, Unreached):
                continue
            if isinstance(answer, BaseException):
                raise answer
            if self._take(batch, answer.responses[0].partition_responses[0]):
                _acknowledge(batches, batch)
        return not batches

    def _request(self, partition: int, batch: Batch) -> ProduceRequest:
        data = PartitionProduceData(partition, batch.data)
        topics = [TopicProduceData(self._topic, partition_data=[data])]
        return ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=topics)

    def _take(self, batch: Batch, answer: PartitionProduceResponse) -> bool:
        """Whether it is acknowledged."""
        code = ErrorCode(answer.error_code)
        first = batch.sends[0]
        self._client.note(f"{first.value} got {code.name} {first.partition}@{answer.base_offset}")
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            for number, send in enumerate(batch.sends):
                send.offset = answer.base_offset + number if answer.base_offset >= 0 else None
            return True
        if code not in RETRIABLE:
            self._client.complain(f"{code.name} ({answer.error_message}) to {first}")
        return False


def _acknowledge(batches: deque[Batch], last: Batch) -> None:
    """Up to one of them. Where those before it are nobody has said."""
    is_last = False
    while not is_last:
        batch = batches.popleft()
        is_last = batch is last
        for send in batch.sends:
            send.outcome = Outcome.OK
