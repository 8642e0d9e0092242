"""Sending records: gathered into batches, delivered in order, repeated without doubling.

One request to each leader is under way at a time, with one batch of each partition in it. So order
is kept whatever has to be repeated, and the broker tells by sequence numbers what it has already.
"""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from penstock.client.cluster import WireClient, pauses
from penstock.client.errors import ClientError, check, code_of, refused
from penstock.client.metadata import Topic
from penstock.client.open_transaction import OpenTransaction
from penstock.client.partitioning import Sticky, partition_for_key
from penstock.errors import ErrorCode
from penstock.wire.batch import NO_PRODUCER, NO_SEQUENCE
from penstock.wire.batch_builder import build_batch
from penstock.wire.compression import Codec
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
from penstock.wire.records import Headers, Record

ALL, LEADER, NONE = -1, 1, 0
"""Whose acknowledgement is waited for."""

BATCH_BYTES = 256 << 10
BATCH_RECORDS = 10_000
METADATA_S_MAX = 30.0
"""After that a topic may have other partitions, or be about to have fewer."""
_RECORD_OVERHEAD = 24
_SEQUENCE_MASK = 0x7FFFFFFF
_UNKNOWN_OFFSET = -1
_TOO_LARGE = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE})
"""For the topic's max.message.bytes, or for one of its segments."""


class Delivery(NamedTuple):
    """One batch that has arrived. The base offset is -1 where the broker did not tell it."""

    partition: int
    base_offset: int
    record_count: int
    size_bytes: int


class _Batch:
    """Records on their way. They are kept so that a batch found too large can be halved."""

    __slots__ = ("base_sequence", "data", "records")

    def __init__(self, records: list[Record], base_sequence: int) -> None:
        for offset, record in enumerate(records):
            record.offset = offset
        self.records = records
        self.base_sequence = base_sequence
        self.data = bytearray()


class _Lane:
    """What waits for one partition: batches in order, and the one that is being filled."""

    __slots__ = ("filling", "next_sequence", "queue", "size_bytes")

    def __init__(self) -> None:
        self.filling: list[Record] = []
        self.size_bytes = 0
        self.queue: deque[_Batch] = deque()
        self.next_sequence = 0


class Producer:
    """Sends to one topic. A delivery that failed for good raises, and so does every later call."""

    def __init__(
        self,
        client: WireClient,
        topic: str,
        *,
        acks: int = ALL,
        codec: Codec = Codec.NONE,
        idempotent: bool = True,
        batch_bytes: int = BATCH_BYTES,
        batch_records: int = BATCH_RECORDS,
        transaction: OpenTransaction | None = None,
        on_delivery: Callable[[Delivery], None] = lambda _: None,
    ) -> None:
        """In a transaction: what is sent counts once that is committed. One producer for each."""
        if (idempotent or transaction) and acks != ALL:
            raise ClientError(
                ErrorCode.INVALID_REQUIRED_ACKS, "an idempotent producer waits for all replicas"
            )
        self._client = client
        self._topic = topic
        self._acks = acks
        self._codec = codec
        self._idempotent = idempotent or transaction is not None
        self._transaction = transaction
        self._batch_bytes = batch_bytes
        self._batch_records = batch_records
        self._on_delivery = on_delivery
        self._lanes: dict[int, _Lane] = {}
        self._sticky = Sticky(secrets.randbelow(1 << 16))
        self._producer_id, self._producer_epoch = NO_PRODUCER, -1
        if transaction is not None:
            self._producer_id, self._producer_epoch = transaction.producer_id, transaction.epoch
        self._failure: ClientError | None = None
        self._spread_over = 0
        """The number of partitions that the last record was meant for."""
        self._known_until_s = 0.0
        """When the topic is asked for again."""

    def send(
        self,
        value: bytes | None,
        key: bytes | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """Takes a record in; delivers its batch once that is full. `flush` delivers the rest."""
        if self._failure:
            raise self._failure
        lane = self._lane(self._choose(key) if partition is None else self._existing(partition))
        stamp_ms = time.time_ns() // 1_000_000 if timestamp_ms is None else timestamp_ms
        self._take(lane, Record(0, stamp_ms, key, value, headers))
        if lane.queue:
            self._deliver()

    def send_all(self, records: Iterable[Record], partition: int) -> None:
        """The same for many, with times of their own. Their offsets do not count."""
        if self._failure:
            raise self._failure
        lane = self._lane(self._existing(partition))
        for record in records:
            self._take(lane, record)
            if lane.queue:
                self._deliver()

    def _lane(self, index: int) -> _Lane:
        lane = self._lanes.get(index)
        if lane is None:
            lane = self._lanes[index] = _Lane()
        return lane

    def _take(self, lane: _Lane, record: Record) -> None:
        size = _size_of(record.key, record.value, record.headers)
        if lane.filling and lane.size_bytes + size > self._batch_bytes:
            self._close_batch(lane)
        lane.filling.append(record)
        lane.size_bytes += size
        if lane.size_bytes >= self._batch_bytes or len(lane.filling) >= self._batch_records:
            self._close_batch(lane)

    def flush(self) -> None:
        """Delivers all that was taken in."""
        if self._failure:
            raise self._failure
        for lane in self._lanes.values():
            if lane.filling:
                self._close_batch(lane)
        self._deliver()

    def _choose(self, key: bytes | None) -> int:
        count = self._open_count()
        return self._sticky.choose(count) if key is None else partition_for_key(key, count)

    def _existing(self, partition: int) -> int:
        count = self._partition_count()
        if not 0 <= partition < count:
            raise refused(
                f"topic {self._topic}",
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"there is no partition {partition}, only 0 to {count - 1}",
            )
        return partition

    def _open_count(self) -> int:
        """Partitions that records go to. Where it is another number than before, all that was taken
        in is delivered first: what has the same key may go elsewhere now, and comes later."""
        if time.monotonic() >= self._known_until_s:
            self._client.forget()
        count = self._described().writable
        if self._spread_over not in (0, count):
            self.flush()
        self._spread_over = count
        return count

    def _partition_count(self) -> int:
        return len(self._described().partitions)

    def _described(self) -> Topic:
        """The topic may come into being by this, as the broker's settings allow."""
        if known := self._client.known_topic(self._topic):
            return known
        topic = self._client.retry(
            lambda deadline: self._client.topic(self._topic, create=True, deadline=deadline)
        )
        if time.monotonic() >= self._known_until_s:
            self._known_until_s = time.monotonic() + METADATA_S_MAX
        return topic

    def _close_batch(self, lane: _Lane) -> None:
        self._sticky.move_on()
        sequence = NO_SEQUENCE
        if self._idempotent:
            sequence = lane.next_sequence
            lane.next_sequence = (sequence + len(lane.filling)) & _SEQUENCE_MASK
        lane.queue.append(_Batch(lane.filling, sequence))
        lane.filling, lane.size_bytes = [], 0

    def _deliver(self) -> None:
        """Rounds of requests until nothing is queued. Time counts from the last gain."""
        if self._idempotent and self._producer_id == NO_PRODUCER:
            self._client.retry(self._take_producer_id)
        deadline, waits = self._client.deadline(), pauses()
        while any(lane.queue for lane in self._lanes.values()):
            before = self._queued()
            failure = self._round(deadline)
            if self._queued() < before:
                deadline, waits = self._client.deadline(), pauses()
            if failure:
                self._wait_after(failure, deadline, waits)

    def _wait_after(self, failure: ClientError, deadline: float, waits: Iterator[float]) -> None:
        pause_s = next(waits)
        if not failure.is_retriable or time.monotonic() + pause_s >= deadline:
            self._failure = failure
            raise failure
        self._client.forget()
        self._client.sleep(pause_s)

    def _queued(self) -> int:
        return sum(len(batch.records) for lane in self._lanes.values() for batch in lane.queue)

    def _round(self, deadline: float) -> ClientError | None:
        """The first batch of every partition to its leader; what failed, if anything did."""
        waiting = [index for index, lane in self._lanes.items() if lane.queue]
        try:
            topic = self._client.topic(self._topic, create=True, deadline=deadline)
            shares = topic.by_leader(waiting)
        except ClientError as error:
            return error
        requests = {
            node: self._request(topic.topic_id, share, deadline) for node, share in shares.items()
        }
        if self._acks == NONE:
            return self._send_unanswered(requests, shares, deadline)
        failure: ClientError | None = None
        for answer in self._client.ask_nodes(requests, ProduceResponse, deadline).values():
            if isinstance(answer, ClientError):
                failure = failure or answer
                continue
            for told in answer.responses:
                for each in told.partition_responses:
                    failure = self._settle(each) or failure
        return failure

    def _request(self, topic_id: bytes, share: list[int], deadline: float) -> ProduceRequest:
        left_ms = max(1, int((deadline - time.monotonic()) * 1000))
        parts = [PartitionProduceData(index, self._first_batch(index)) for index in share]
        return ProduceRequest(
            transactional_id=self._transaction.name if self._transaction else None,
            acks=self._acks,
            timeout_ms=left_ms,
            topic_data=[TopicProduceData(self._topic, topic_id, parts)],
        )

    def _first_batch(self, index: int) -> bytearray:
        batch = self._lanes[index].queue[0]
        if not batch.data:
            batch.data = build_batch(
                batch.records,
                codec=self._codec,
                producer_id=self._producer_id,
                producer_epoch=self._producer_epoch,
                base_sequence=batch.base_sequence,
                transactional=self._transaction is not None,
            )
        return batch.data

    def _send_unanswered(
        self, requests: dict[int, ProduceRequest], shares: dict[int, list[int]], deadline: float
    ) -> ClientError | None:
        for node, request in requests.items():
            try:
                self._client.node(node, deadline).send(request, deadline, answered=False)
            except ClientError as error:
                return error
            for index in shares[node]:
                self._done(index, _UNKNOWN_OFFSET)
        return None

    def _settle(self, answer: PartitionProduceResponse) -> ClientError | None:
        code = code_of(answer.error_code)
        queue = self._lanes[answer.index].queue
        if code in {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}:
            self._done(answer.index, answer.base_offset)
            return None
        if code in _TOO_LARGE and len(queue[0].records) > 1:
            queue.extendleft(reversed(_halves(queue.popleft())))
            return None
        message = answer.error_message
        for each in answer.record_errors:
            message = each.batch_index_error_message or message
        return refused(f"{self._topic}-{answer.index}", code, message)

    def _done(self, index: int, base_offset: int) -> None:
        batch = self._lanes[index].queue.popleft()
        self._on_delivery(Delivery(index, base_offset, len(batch.records), len(batch.data)))

    def _take_producer_id(self, deadline: float) -> None:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        answer = self._client.ask_any(request, InitProducerIdResponse, deadline)
        check("producer id", answer.error_code)
        self._producer_id, self._producer_epoch = answer.producer_id, answer.producer_epoch


def _halves(batch: _Batch) -> list[_Batch]:
    """The topic takes smaller batches than ours; sequences go on from one half to the other."""
    middle = len(batch.records) // 2
    sequence = batch.base_sequence
    if sequence != NO_SEQUENCE:
        sequence = (sequence + middle) & _SEQUENCE_MASK
    return [
        _Batch(batch.records[:middle], batch.base_sequence),
        _Batch(batch.records[middle:], sequence),
    ]


def _size_of(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    size = _RECORD_OVERHEAD + len(key or b"") + len(value or b"")
    for name, content in headers:
        size += len(name) + len(content or b"") + 4
    return size
