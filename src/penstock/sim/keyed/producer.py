"""A simulated producer with keys: idempotent, acks=all, and with the usual choice of partitions.

What it holds for a partition that its topic has no more fails, as in all clients, and is not sent
again. One batch is under way in each partition.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.errors import ErrorCode
from penstock.sim.client import RETRY_S, SimClient, Unreached, answered
from penstock.sim.keyed.history import KeyedHistory, Message
from penstock.sim.producer import INIT_VERSION, PRODUCE_VERSION, RETRIABLE
from penstock.sim.world import BEGINNING_MS
from penstock.wire.batch_builder import build_batch
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from penstock.wire.messages.k22_init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from penstock.wire.records import Record

BATCH_MAX = 4
PAUSE_S_MAX = 0.3
TIMEOUT_MS = 10_000


@dataclass(slots=True)
class Lane:
    """What is to go to one partition."""

    waiting: list[Message] = field(default_factory=list)
    batch: list[Message] = field(default_factory=list)
    """Under way, until it is acknowledged."""
    sequence: int = 0


class KeyedProducer:
    def __init__(
        self, client: SimClient, history: KeyedHistory, topic: str, keys: Sequence[int]
    ) -> None:
        self._client = client
        self._history = history
        self._topic, self._keys = topic, keys
        self._id, self._epoch = -1, -1
        self._count = 0
        self._lanes: dict[int, Lane] = {}
        self._stopping = False
        self.is_paused = False
        """It sends nothing new for now."""
        self.tasks = [client.loop.create_task(self._run())]

    @property
    def is_done(self) -> bool:
        return all(task.done() for task in self.tasks)

    @property
    def is_idle(self) -> bool:
        return not any(lane.waiting or lane.batch for lane in self._lanes.values())

    def resume(self, count: int) -> None:
        """By a number of partitions that it is told, as if it were started only now."""
        self._count, self.is_paused = count, False

    def stop(self) -> None:
        self._stopping = True

    async def _run(self) -> None:
        random = self._client.random
        while not self._stopping or not self.is_idle:
            try:
                await self._turn()
            except Unreached:
                await asyncio.sleep(RETRY_S * (1 + random.random()))
            await asyncio.sleep(random.random() * PAUSE_S_MAX)

    async def _turn(self) -> None:
        if self._id < 0:
            await self._identify()
        if self._count == 0:
            self._count = await self._client.partition_count(self._topic)
        if not self._stopping and not self.is_paused:
            self._send_some()
        busy = [at for at, lane in self._lanes.items() if lane.waiting or lane.batch]
        done = await asyncio.gather(*(self._send(at, self._lanes[at]) for at in busy))
        if not all(done):
            self._client.forget_leaders()
            self._count = min(self._count, await self._client.partition_count(self._topic))
            self._fail_vanished()

    async def _identify(self) -> None:
        request = InitProducerIdRequest(transactional_id=None)
        answer = await self._client.ask_any(request, INIT_VERSION, InitProducerIdResponse)
        if answer.error_code != ErrorCode.NONE:
            raise Unreached(ErrorCode(answer.error_code).name)
        self._id, self._epoch = answer.producer_id, answer.producer_epoch

    def _send_some(self) -> None:
        for _ in range(self._client.random.randint(1, BATCH_MAX)):
            key = self._client.random.choice(self._keys)
            lane = self._lanes.setdefault(key % self._count, Lane())
            lane.waiting.append(self._history.send(key))

    def _fail_vanished(self) -> None:
        for at in [at for at in self._lanes if at >= self._count]:
            lane = self._lanes.pop(at)
            self._history.failed.update(lane.batch, lane.waiting)

    async def _send(self, partition: int, lane: Lane) -> bool:
        """Whether the batch was acknowledged."""
        if not lane.batch:
            lane.batch, lane.waiting = lane.waiting[:BATCH_MAX], lane.waiting[BATCH_MAX:]
        try:
            exchange = await self._client.leader(self._topic, partition)
            asked = exchange.ask(self._request(partition, lane), PRODUCE_VERSION, ProduceResponse)
            answer = await answered(exchange, asked)
        except Unreached:
            return False
        told = answer.responses[0].partition_responses[0]
        code = ErrorCode(told.error_code)
        self._client.note(f"{lane.batch} got {code.name} {partition}@{told.base_offset}")
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            self._history.acknowledged.update(lane.batch)
            lane.sequence += len(lane.batch)
            lane.batch = []
            return True
        if code not in RETRIABLE:
            self._client.complain(f"{code.name} ({told.error_message}) to {lane.batch}")
        return False

    def _request(self, partition: int, lane: Lane) -> ProduceRequest:
        records = [
            Record(number, BEGINNING_MS, b"%d" % message.key, message.encoded())
            for number, message in enumerate(lane.batch)
        ]
        batch = build_batch(
            records,
            producer_id=self._id,
            producer_epoch=self._epoch,
            base_sequence=lane.sequence,
        )
        data = PartitionProduceData(partition, bytes(batch))
        topics = [TopicProduceData(self._topic, partition_data=[data])]
        return ProduceRequest(acks=-1, timeout_ms=TIMEOUT_MS, topic_data=topics)
