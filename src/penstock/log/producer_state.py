"""What each idempotent producer wrote last: how a repeated batch is told from a new one.

Also which transactions are open, so where the last stable offset is, and which have been aborted.
All of it can be made again from the log.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from penstock.errors import ErrorCode, Malformed, Refused
from penstock.log.aborted_index import AbortedTxn
from penstock.wire.batch import NO_SEQUENCE, BatchHeader
from penstock.wire.batch_builder import Marker, read_marker
from penstock.world.ports import Buffer

BATCHES_REMEMBERED = 5
PRODUCERS_REMEMBERED = 100_000
PRODUCERS_A_SLICE = 5000
CANDIDATES = 32
NO_EPOCH = -1
NO_OFFSET = -1
NOT_KNOWN = -1
_ALL_BUT_ONE = slice(1 - BATCHES_REMEMBERED, None)
_LAST_SEQUENCE = 0x7FFFFFFF


class WrittenBatch(NamedTuple):
    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class Producer:
    __slots__ = (
        "batches",
        "coordinator_epoch",
        "ended",
        "epoch",
        "id",
        "last_timestamp",
        "txn_first_offset",
    )

    def __init__(self, producer_id: int, epoch: int) -> None:
        self.id = producer_id
        self.epoch = epoch
        self.batches: tuple[WrittenBatch, ...] = ()
        """The last few, the latest last."""
        self.coordinator_epoch = NO_EPOCH
        self.ended = 0
        """Transactions that have ended here since it is known; not stored."""
        self.txn_first_offset = NO_OFFSET
        self.last_timestamp = NOT_KNOWN
        """When it was last heard of, by this broker's clock; batches read again do not tell."""

    def copy(self) -> Producer:
        copy = Producer.__new__(Producer)
        copy.id = self.id
        copy.epoch = self.epoch
        copy.batches = self.batches
        copy.coordinator_epoch = self.coordinator_epoch
        copy.ended = self.ended
        copy.txn_first_offset = self.txn_first_offset
        copy.last_timestamp = self.last_timestamp
        return copy

    @property
    def latest_timestamp(self) -> int:
        """When it wrote last, as far as that is known; of who was read again, by its batches."""
        if self.last_timestamp == NOT_KNOWN and self.batches:
            return self.batches[-1].timestamp
        return self.last_timestamp

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


class ProducerStates:
    __slots__ = ("_ended", "_open", "before", "producers")

    def __init__(self) -> None:
        self.producers: OrderedDict[int, Producer] = OrderedDict()
        """Those that wrote last stand last. None is changed that was there at the last `settle`:
        a copy takes its place."""
        self._open: dict[int, int] = {}
        """Producer id -> first offset of its open transaction, the earliest first."""
        self._ended: list[tuple[int, int]] = []
        """(first, marker) of transactions that ended above the high watermark."""
        self.before: dict[int, Producer | None] = {}
        """Those changed since `settle`, as they were then; None for one that was not known."""

    def check(self, header: BatchHeader) -> WrittenBatch | None:
        """The batch as it was written before if this one repeats it; None if it is new."""
        producer = self.producers.get(header.producer_id)
        if producer is None:
            return None
        if header.producer_epoch != producer.epoch:
            _check_new_epoch(producer, header)
        elif header.base_sequence == NO_SEQUENCE:
            return None  # a coordinator's: it makes no mistakes about that
        elif header.base_sequence != (producer.last_sequence + 1) & _LAST_SEQUENCE:
            return _repeated(producer, header)
        if producer.txn_first_offset >= 0 and not header.is_transactional:
            raise Refused(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {header.producer_id} has a transaction open and wrote outside of it",
            )
        return None

    def is_open_for(self, producer_id: int, epoch: int) -> bool:
        """Whether a transaction of this producer has written here, and is not over."""
        producer = self.producers.get(producer_id)
        is_open = producer is not None and producer.txn_first_offset >= 0
        return is_open and producer is not None and producer.epoch == epoch

    def check_epoch(self, producer_id: int, epoch: int) -> None:
        """Raises Refused if a later one has been heard of."""
        producer = self.producers.get(producer_id)
        if producer is not None and epoch < producer.epoch:
            raise _old_epoch(producer, epoch)

    def ended(self, producer_id: int) -> int:
        """A number that changes whenever a transaction of this producer ends here, and not when
        its first record comes: the same may be asked twice."""
        producer = self.producers.get(producer_id)
        return 0 if producer is None else producer.ended

    def follows(self, header: BatchHeader) -> bool:
        """Whether all that its producer has sent before it in its epoch is here, as far as that
        can be told, and perhaps the batch itself."""
        producer = self.producers.get(header.producer_id)
        if producer is None or producer.epoch != header.producer_epoch:
            return False
        is_next = header.base_sequence == (producer.last_sequence + 1) & _LAST_SEQUENCE
        return is_next or _known(producer, header) is not None

    def begins_late(self, header: BatchHeader) -> bool:
        """Whether its producer is not known, and has sent something before it."""
        return header.base_sequence > 0 and header.producer_id not in self.producers

    def lacks_some_before(self, header: BatchHeader) -> bool:
        """Whether its producer has sent something before it that is not here."""
        producer = self.producers.get(header.producer_id)
        if producer is None or header.producer_epoch > producer.epoch:
            return header.base_sequence > 0
        if header.producer_epoch < producer.epoch or header.base_sequence == NO_SEQUENCE:
            return False
        ahead = (header.base_sequence - producer.last_sequence - 1) & _LAST_SEQUENCE
        return 0 < ahead <= _LAST_SEQUENCE // 2

    def known(self, header: BatchHeader) -> WrittenBatch | None:
        """The same, of a batch that is not to be taken if it is new, whatever else is wrong with
        it."""
        producer = self.producers.get(header.producer_id)
        if producer is None or producer.epoch != header.producer_epoch:
            return None
        return _known(producer, header)

    def check_marker(self, header: BatchHeader, marker: Marker) -> None:
        producer = self.producers.get(header.producer_id)
        if producer is None:
            return
        self.check_epoch(header.producer_id, header.producer_epoch)
        if marker.coordinator_epoch < producer.coordinator_epoch:
            raise Refused(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"coordinator epoch {marker.coordinator_epoch} is older than "
                f"{producer.coordinator_epoch}",
            )

    def note_batch(self, header: BatchHeader, base: int, timestamp: int, heard_ms: int) -> None:
        """A data batch was appended at this offset."""
        producer = self._at_epoch(header)
        last = base + header.last_offset_delta
        if header.base_sequence != NO_SEQUENCE:
            producer.batches = (
                *producer.batches[_ALL_BUT_ONE],
                WrittenBatch(header.base_sequence, header.last_sequence, base, last, timestamp),
            )
        producer.last_timestamp = heard_ms
        if header.is_transactional and producer.txn_first_offset < 0:
            producer.txn_first_offset = base
            self._open[header.producer_id] = base

    def note_marker(
        self, header: BatchHeader, marker: Marker, offset: int, heard_ms: int
    ) -> AbortedTxn | None:
        """A commit or abort was appended; what it aborted, if it did."""
        producer = self._at_epoch(header)
        producer.coordinator_epoch = max(producer.coordinator_epoch, marker.coordinator_epoch)
        producer.last_timestamp = heard_ms
        producer.ended += 1
        first, producer.txn_first_offset = producer.txn_first_offset, NO_OFFSET
        if self._open.pop(header.producer_id, None) is None:
            return None
        self._ended.append((first, offset))
        if marker.is_commit:
            return None
        stable = next(iter(self._open.values()), offset + 1)
        return AbortedTxn(header.producer_id, first, offset, stable)

    def _at_epoch(self, header: BatchHeader) -> Producer:
        producer_id = header.producer_id
        producer = self.producers.get(producer_id)
        if producer_id not in self.before:
            self.before[producer_id] = producer
            if producer is not None:
                producer = self.producers[producer_id] = producer.copy()
        if producer is None:
            if len(self.producers) >= PRODUCERS_REMEMBERED:
                self._forget_one()
            producer = self.producers[producer_id] = Producer(producer_id, header.producer_epoch)
            return producer
        self.producers.move_to_end(producer_id)
        if producer.epoch != header.producer_epoch:
            producer.epoch = header.producer_epoch
            producer.batches = ()
        return producer

    def settle(self) -> None:
        """What was noted so far stays."""
        self.before.clear()

    def settled(self) -> list[Producer]:
        """All of them as they are now, and stay; to be asked for right after `settle`.

        In no order: that would take several times as long, of very many.
        """
        return list(dict.values(self.producers))

    def undo(self, end_offset: int) -> None:
        """Everything is as at the last `settle`, when the log ended at an offset."""
        for producer_id, producer in self.before.items():
            self.producers.pop(producer_id, None)
            self._open.pop(producer_id, None)
            if producer is not None:
                self.put(producer)
        self.sort_open()
        self._ended = [ended for ended in self._ended if ended[1] < end_offset]
        self.before.clear()

    def _forget_one(self) -> None:
        """The one that wrote the longest ago, but none with a transaction open: those go to the
        end, so that they are not looked at again and again."""
        for producer_id in list(islice(self.producers, CANDIDATES)):
            if self.producers[producer_id].txn_first_offset < 0:
                self.before.setdefault(producer_id, self.producers.pop(producer_id))
                return
            self.producers.move_to_end(producer_id)

    def expire(self, now_ms: int, after_ms: int) -> Iterator[None]:
        """Forget producers not heard of for so long; yields now and then, if there are many.

        For those of whom it is not known when, that time begins now.
        """
        latest_ms, producers = now_ms - after_ms, self.settled()
        while producers:
            for producer in producers[-PRODUCERS_A_SLICE:]:
                if producer.last_timestamp == NOT_KNOWN:
                    producer.last_timestamp = now_ms
                elif producer.txn_first_offset < 0 and producer.last_timestamp <= latest_ms:
                    self._forget(producer)
            del producers[-PRODUCERS_A_SLICE:]  # which is when they are gone, and takes its time
            yield

    def _forget(self, producer: Producer) -> None:
        """Unless it has written meanwhile."""
        if self.producers.get(producer.id) is producer:
            del self.producers[producer.id]

    def put(self, producer: Producer) -> None:
        """From a snapshot, say; who puts many restores their order by `sort` or `sort_open`."""
        self.producers[producer.id] = producer
        if producer.txn_first_offset >= 0:
            self._open[producer.id] = producer.txn_first_offset

    def sort(self) -> None:
        """Once all are there: those that wrote last come last."""
        self.producers = OrderedDict(sorted(self.producers.items(), key=_last_offset))
        self.sort_open()

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


def _last_offset(known: tuple[int, Producer]) -> int:
    batches = known[1].batches
    return batches[-1].last_offset if batches else NO_OFFSET


def _repeated(producer: Producer, header: BatchHeader) -> WrittenBatch:
    known = _known(producer, header)
    if known is None:
        raise _out_of_order(header, f"after {producer.last_sequence}")
    return known


def _known(producer: Producer, header: BatchHeader) -> WrittenBatch | None:
    sequences = header.base_sequence, header.last_sequence
    for batch in producer.batches:
        if batch[:2] == sequences:
            return batch
    return None


def _check_new_epoch(producer: Producer, header: BatchHeader) -> None:
    if header.producer_epoch < producer.epoch:
        raise _old_epoch(producer, header.producer_epoch)
    if header.base_sequence > 0:
        raise _out_of_order(header, f"for the new epoch {header.producer_epoch}")


def _old_epoch(producer: Producer, epoch: int) -> Refused:
    return Refused(
        ErrorCode.INVALID_PRODUCER_EPOCH,
        f"producer {producer.id} has epoch {producer.epoch}, not {epoch}",
    )


def _out_of_order(header: BatchHeader, what: str) -> Refused:
    return Refused(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"producer {header.producer_id} sent sequence {header.base_sequence} {what}",
    )
