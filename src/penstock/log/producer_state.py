"""What each idempotent producer wrote last: how a repeated batch is told from a new one.

Also which transactions are open, so where the last stable offset is, and which have been aborted.
All of it can be made again from the log.
"""

from __future__ import annotations

from collections import deque
from heapq import nsmallest
from typing import NamedTuple

from penstock.errors import ErrorCode, Malformed, Refused
from penstock.log.aborted_index import AbortedTxn
from penstock.wire.batch import NO_SEQUENCE, BatchHeader
from penstock.wire.batch_builder import Marker, read_marker
from penstock.world.ports import Buffer

BATCHES_REMEMBERED = 5
PRODUCERS_REMEMBERED = 100_000
NO_EPOCH = -1
NO_OFFSET = -1
_LAST_SEQUENCE = 0x7FFFFFFF


class WrittenBatch(NamedTuple):
    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class Producer:
    __slots__ = ("batches", "coordinator_epoch", "epoch", "last_timestamp", "txn_first_offset")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: deque[WrittenBatch] = deque(maxlen=BATCHES_REMEMBERED)
        self.coordinator_epoch = NO_EPOCH
        self.txn_first_offset = NO_OFFSET
        self.last_timestamp = -1

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


class ProducerStates:
    __slots__ = ("_ended", "_open", "producers")

    def __init__(self) -> None:
        self.producers: dict[int, Producer] = {}
        self._open: dict[int, int] = {}
        """Producer id -> first offset of its open transaction, the earliest first."""
        self._ended: list[tuple[int, int]] = []
        """(first, marker) of transactions that ended above the high watermark."""

    def check(self, header: BatchHeader) -> WrittenBatch | None:
        """The batch as it was written before if this one repeats it; None if it is new."""
        producer = self.producers.get(header.producer_id)
        if producer is None:
            return None
        if header.producer_epoch != producer.epoch:
            _check_new_epoch(producer, header)
        else:
            first, last = header.base_sequence, header.last_sequence
            for batch in producer.batches:
                if batch.first_sequence == first and batch.last_sequence == last:
                    return batch
            if first != (producer.last_sequence + 1) & _LAST_SEQUENCE:
                raise _out_of_order(header, f"after {producer.last_sequence}")
        if producer.txn_first_offset >= 0 and not header.is_transactional:
            raise Refused(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {header.producer_id} has a transaction open and wrote outside of it",
            )
        return None

    def check_marker(self, header: BatchHeader, marker: Marker) -> None:
        producer = self.producers.get(header.producer_id)
        if producer is None:
            return
        if header.producer_epoch < producer.epoch:
            raise _old_epoch(producer, header)
        if marker.coordinator_epoch < producer.coordinator_epoch:
            raise Refused(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"coordinator epoch {marker.coordinator_epoch} is older than "
                f"{producer.coordinator_epoch}",
            )

    def note_batch(self, header: BatchHeader, base: int, timestamp: int) -> None:
        """A data batch was appended at this offset."""
        producer = self._at_epoch(header)
        last = base + header.last_offset_delta
        producer.batches.append(
            WrittenBatch(header.base_sequence, header.last_sequence, base, last, timestamp)
        )
        producer.last_timestamp = timestamp
        if header.is_transactional and producer.txn_first_offset < 0:
            producer.txn_first_offset = base
            self._open[header.producer_id] = base

    def note_marker(
        self, header: BatchHeader, marker: Marker, offset: int, timestamp: int
    ) -> AbortedTxn | None:
        """A commit or abort was appended; what it aborted, if it did."""
        producer = self._at_epoch(header)
        producer.coordinator_epoch = max(producer.coordinator_epoch, marker.coordinator_epoch)
        producer.last_timestamp = timestamp
        first, producer.txn_first_offset = producer.txn_first_offset, NO_OFFSET
        if self._open.pop(header.producer_id, None) is None:
            return None
        self._ended.append((first, offset))
        if marker.is_commit:
            return None
        stable = next(iter(self._open.values()), offset + 1)
        return AbortedTxn(header.producer_id, first, offset, stable)

    def _at_epoch(self, header: BatchHeader) -> Producer:
        producer = self.producers.get(header.producer_id)
        if producer is None:
            producer = self.producers[header.producer_id] = Producer(header.producer_epoch)
            if len(self.producers) > PRODUCERS_REMEMBERED:
                self._forget_some()
        elif producer.epoch != header.producer_epoch:
            producer.epoch = header.producer_epoch
            producer.batches.clear()
        return producer

    def _forget_some(self) -> None:
        """A tenth at a time, the longest unheard first; never one with a transaction open."""
        idle = ((p.last_timestamp, i) for i, p in self.producers.items() if p.txn_first_offset < 0)
        for _, producer_id in nsmallest(PRODUCERS_REMEMBERED // 10, idle):
            del self.producers[producer_id]

    def expire(self, now_ms: int, after_ms: int) -> int:
        """Forget producers not heard of for so long; returns how many."""
        gone = [
            producer_id
            for producer_id, producer in self.producers.items()
            if producer.txn_first_offset < 0 and now_ms - producer.last_timestamp >= after_ms
        ]
        for producer_id in gone:
            del self.producers[producer_id]
        return len(gone)

    def put(self, producer_id: int, producer: Producer) -> None:
        """From a snapshot; the order of open transactions is restored by `sort_open`."""
        self.producers[producer_id] = producer
        if producer.txn_first_offset >= 0:
            self._open[producer_id] = producer.txn_first_offset

    def sort_open(self) -> None:
        self._open = dict(sorted(self._open.items(), key=lambda item: item[1]))

    def first_unstable(self, high_watermark: int | None) -> int | None:
        """The first offset of the earliest transaction that is not decided, if there is one.

        Given a high watermark, a transaction is decided once its marker is below that.
        """
        first = next(iter(self._open.values()), None)
        ended = self._ended
        if high_watermark is None or not ended:
            return first
        while ended and ended[0][1] < high_watermark:
            del ended[0]
        starts = [start for start, _ in ended]
        if first is not None:
            starts.append(first)
        return min(starts, default=None)

    def open_transactions(self) -> dict[int, int]:
        """Producer id -> first offset, the earliest first."""
        return dict(self._open)


def marker_in(batch: Buffer) -> Marker | None:
    """None for a control batch of another kind, which only takes up its offset."""
    try:
        return read_marker(batch)
    except Malformed:
        return None


def _check_new_epoch(producer: Producer, header: BatchHeader) -> None:
    if header.producer_epoch < producer.epoch:
        raise _old_epoch(producer, header)
    if header.base_sequence != 0:
        raise _out_of_order(header, f"for the new epoch {header.producer_epoch}")


def _old_epoch(producer: Producer, header: BatchHeader) -> Refused:
    return Refused(
        ErrorCode.INVALID_PRODUCER_EPOCH,
        f"producer {header.producer_id} has epoch {producer.epoch}, not {header.producer_epoch}",
    )


def _out_of_order(header: BatchHeader, what: str) -> Refused:
    return Refused(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"producer {header.producer_id} sent sequence {header.base_sequence} {what}",
    )
