"""A simulated producer of messages for later: idempotent, acks=all, one batch at a time in each
partition, and never giving up. Some of what it has sent it cancels."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from penstock.errors import ErrorCode
from penstock.sim.client import RETRY_S, SimClient, Unreached, answered
from penstock.sim.delays.history import PARTITIONS, TOPIC, DelayHistory, Send
from penstock.sim.outcome import Outcome
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
from penstock.wire.records import Headers, Record

DELAYS_MS = (None, -1000, 0, 500, 1000, 1500, 3000, 5000)
GRAIN_MS = 500
"""So that several fall due together."""
RECORDS_MAX = 3
CANCELS = 0.25
REPEATS = 0.1
YEARLY, SENT_MS, FIRST_MS = b"0 0 1 jan *", BEGINNING_MS - 31_536_000_000, 1_735_689_600_000
"""What repeats is due at once, since its timestamp is a year ago, and next when all is over."""
PAUSE_S_MAX = 0.2
SENT = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)


class Answer(NamedTuple):
    code: ErrorCode
    base_offset: int


def now_ms(client: SimClient) -> int:
    return BEGINNING_MS + int(client.loop.scheduler.now_s * 1000)


def some_due_ms(client: SimClient) -> int | None:
    delay_ms = client.random.choice(DELAYS_MS)
    if delay_ms is None:
        return None
    return (now_ms(client) + delay_ms) // GRAIN_MS * GRAIN_MS


def record_of(number: int, send: Send) -> Record:
    value = b"%d" % send.value
    if send.repeats:
        return Record(number, SENT_MS, None, value, ((b"penstock-cron", YEARLY),))
    return Record(number, BEGINNING_MS, None, value, headers_of(send.due_ms))


def headers_of(due_ms: int | None) -> Headers:
    return () if due_ms is None else ((b"penstock-deliver-at", b"%d" % due_ms),)


class DelayProducer:
    def __init__(self, client: SimClient, history: DelayHistory) -> None:
        self._client = client
        self._history = history
        self._id, self._epoch = -1, -1
        self.is_stopping = False
        self.tasks = [client.loop.create_task(self._run())]

    @property
    def is_done(self) -> bool:
        return all(task.done() for task in self.tasks)

    async def _run(self) -> None:
        while self._id < 0:
            try:
                request = InitProducerIdRequest(transactional_id=None)
                answer = await self._client.ask_any(request, INIT_VERSION, InitProducerIdResponse)
                self._id, self._epoch = answer.producer_id, answer.producer_epoch
            except Unreached:
                await asyncio.sleep(RETRY_S)
        await asyncio.gather(*(self._lane(partition) for partition in range(PARTITIONS)))

    async def _lane(self, partition: int) -> None:
        random, sequence = self._client.random, 0
        held: list[Send] = []
        while not self.is_stopping:
            if held and random.random() < CANCELS:
                sequence += await self._cancel(held.pop(random.randrange(len(held))), sequence)
            else:
                sends = await self._send(partition, sequence)
                sequence += len(sends)
                held += [each for each in sends if each.due_ms is not None and not each.repeats]
            await asyncio.sleep(random.random() * PAUSE_S_MAX)

    async def _send(self, partition: int, sequence: int) -> list[Send]:
        count = self._client.random.randint(1, RECORDS_MAX)
        sends = [self._new_send(partition) for _ in range(count)]
        records = [record_of(number, each) for number, each in enumerate(sends)]
        code, base = await self._until_answered(partition, self._batch(records, sequence))
        if code not in SENT:
            self._client.complain(f"{code.name} to {sends[0]}")
        for number, each in enumerate(sends):
            each.outcome, each.offset = Outcome.OK, base + number
        return sends

    def _new_send(self, partition: int) -> Send:
        if self._client.random.random() < REPEATS:
            return self._history.send(partition, FIRST_MS, repeats=True)
        return self._history.send(partition, some_due_ms(self._client))

    async def _cancel(self, send: Send, sequence: int) -> int:
        """How many sequence numbers it took: what is refused takes none."""
        send.cancelled = Outcome.UNKNOWN
        header = (b"penstock-cancel", b"%d" % send.offset)
        batch = self._batch([Record(0, BEGINNING_MS, None, b"-1", (header,))], sequence)
        code, _ = await self._until_answered(send.partition, batch)
        send.cancelled = Outcome.OK if code in SENT else Outcome.FAILED
        return int(code in SENT)

    def _batch(self, records: list[Record], sequence: int) -> bytes:
        return bytes(
            build_batch(
                records,
                producer_id=self._id,
                producer_epoch=self._epoch,
                base_sequence=sequence,
            )
        )

    async def _until_answered(self, partition: int, batch: bytes) -> Answer:
        data = TopicProduceData(TOPIC, partition_data=[PartitionProduceData(partition, batch)])
        request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data])
        while True:
            try:
                exchange = await self._client.leader(TOPIC, partition)
                asked = exchange.ask(request, PRODUCE_VERSION, ProduceResponse)
                answer = (await answered(exchange, asked)).responses[0].partition_responses[0]
                code = ErrorCode(answer.error_code)
                self._client.note(f"{code.name} {partition}@{answer.base_offset}")
                if code not in RETRIABLE:
                    return Answer(code, answer.base_offset)
            except Unreached:
                pass
            self._client.forget_leaders()
            await asyncio.sleep(RETRY_S * (1 + self._client.random.random()))
