"""What compaction keeps of a batch. Bytes in, bytes out: no file is touched here.

Kept are the last record of each key and everything that the key map does not cover. A deleted key's
tombstone, and the marker of a transaction that has nothing left, stay for delete.retention.ms after
the pass that first found them so: until then a reader on its way through the log may need them. The
batch's header says until when (KIP-534). What is left of a batch keeps its offsets, producer and
sequence numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop
from typing import NamedTuple

from penstock.config import TopicConfig
from penstock.log.aborted_index import AbortedTxn
from penstock.log.key_map import KeyMap
from penstock.log.producer_state import Producer, marker_in
from penstock.log.segment import Segment
from penstock.wire.batch import BatchHeader, check, read_header, size_at
from penstock.wire.batch_builder import rebuild, records_of, sliced_spans
from penstock.wire.compression import DECOMPRESSED_BYTES_MAX
from penstock.wire.records import Span
from penstock.world.ports import Buffer


def batches_in(chunk: memoryview) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Each with its CRC checked, or Refused: a copy would make what is damaged look whole."""
    position = 0
    while position < len(chunk):
        size = size_at(chunk, position)
        batch = chunk[position : position + size]
        yield check(batch), batch
        position += size


def _records_in(batch: memoryview) -> bytes:
    return records_of(batch, DECOMPRESSED_BYTES_MAX)


class Ended(NamedTuple):
    aborted: AbortedTxn | None
    is_empty: bool
    """No batch of the transaction was left when the pass came by."""


class Transactions:
    """Which transactions a pass is in the middle of, by the batches that it has seen."""

    __slots__ = ("_aborted", "_coming", "_with_batches")

    def __init__(self) -> None:
        self._coming: list[tuple[int, AbortedTxn]] = []
        self._aborted: dict[int, AbortedTxn] = {}
        self._with_batches: set[int] = set()

    def expect(self, aborted: Iterable[AbortedTxn]) -> None:
        """Those of the stretch that comes next; some may have begun, and been told of, before."""
        known = {*(each for _, each in self._coming), *self._aborted.values()}
        self._coming += [(each.first_offset, each) for each in aborted if each not in known]
        heapify(self._coming)

    def is_aborted(self, header: BatchHeader) -> bool:
        """Of a batch with data, the next one in the log."""
        while self._coming and self._coming[0][0] <= header.last_offset:
            _, begun = heappop(self._coming)
            self._aborted[begun.producer_id] = begun
        if not header.is_transactional:
            return False
        self._with_batches.add(header.producer_id)
        aborted = self._aborted.get(header.producer_id)
        return aborted is not None and (
            aborted.first_offset <= header.base_offset <= aborted.last_offset
        )

    def end(self, header: BatchHeader) -> Ended:
        """Of a marker, the next batch in the log."""
        self.is_aborted(header._replace(attributes=0))
        is_empty = header.producer_id not in self._with_batches
        self._with_batches.discard(header.producer_id)
        aborted = self._aborted.get(header.producer_id)
        if aborted is None or aborted.last_offset > header.base_offset:
            return Ended(None, is_empty)
        del self._aborted[header.producer_id]
        return Ended(aborted if aborted.last_offset == header.base_offset else None, is_empty)


class LastWords:
    """The batches that tell what a producer wrote last; producer state is made anew from them."""

    __slots__ = ("_epochs", "_offsets")

    def __init__(self) -> None:
        self._offsets: dict[int, int] = {}
        self._epochs: dict[int, int] = {}

    def learn(self, producers: Sequence[Producer]) -> None:
        for producer in producers:
            if producer.batches:
                self._offsets[producer.id] = producer.batches[-1].last_offset
            else:
                self._epochs[producer.id] = producer.epoch

    def include(self, header: BatchHeader) -> bool:
        if header.is_control:
            return self._epochs.get(header.producer_id) == header.producer_epoch
        return self._offsets.get(header.producer_id) == header.last_offset


class KeyReader:
    """First time through what is dirty: learn the last offset of every key."""

    def __init__(self, keys: KeyMap, start: int) -> None:
        self.keys = keys
        self.transactions = Transactions()
        self._start = start

    def take(self, chunk: memoryview) -> None:
        """Stops where the map is full; it is complete up to there then."""
        for header, batch in batches_in(chunk):
            if self.keys.is_full:
                return
            self._note(header, batch)
            self.keys.end = max(self.keys.end, header.next_offset)

    def _note(self, header: BatchHeader, batch: memoryview) -> None:
        if header.is_control:
            self.transactions.end(header)
        elif not self.transactions.is_aborted(header) and header.last_offset >= self._start:
            for found in sliced_spans(_records_in(batch), header.record_count):
                self.keys.note(found, header.base_offset)


class Sieve:
    """Second time, through all that is cleanable: what stays of it."""

    def __init__(
        self, keys: KeyMap, last_words: LastWords, now_ms: int, config: TopicConfig
    ) -> None:
        self.transactions = Transactions()
        self._keys = keys
        self._last_words = last_words
        self._now_ms = now_ms
        self._horizon_ms = now_ms + config.delete_retention_ms
        self._index_interval_bytes = config.index_interval_bytes

    def take(
        self, chunk: memoryview, target: Segment, stays: list[Buffer], *, is_end: bool
    ) -> None:
        """Add what stays of these batches; the indexes of the target are built up here too.

        A batch without records stays only while it holds what a producer wrote last, or where the
        log ends: who reads up to there, a follower above all, gets to the end only by it. Clients
        take answers of nothing but such batches for records that are too large.
        """
        position = 0
        for header, batch in batches_in(chunk):
            position += len(batch)
            needed = self._last_words.include(header) or (is_end and position == len(chunk))
            if header.is_control:
                kept = self._marker(header, batch, target, needed)
            else:
                kept = self._data(header, batch, needed)
            if kept is not None:
                stays.append(kept)
                self._note(target, header if kept is batch else read_header(kept))

    def _data(self, header: BatchHeader, batch: memoryview, needed: bool) -> Buffer | None:
        if self.transactions.is_aborted(header) or not header.record_count:
            return _emptied(header, batch) if needed else None
        if header.base_offset >= self._keys.end:
            return batch
        data = _records_in(batch)
        kept = self._survivors(header, data)
        if not kept:
            return _emptied(header, batch) if needed else None
        horizon_ms = None
        if header.delete_horizon_ms is None and not all(span.has_value for span in kept):
            horizon_ms = self._horizon_ms
        if len(kept) == header.record_count and horizon_ms is None:
            return batch
        return rebuild(header, data, kept, delete_horizon_ms=horizon_ms)

    def _survivors(self, header: BatchHeader, data: bytes) -> list[Span]:
        kept: list[Span] = []
        for found in sliced_spans(data, header.record_count):
            kept += self._keys.survivors(found, header.base_offset)
        if self._has_passed(header.delete_horizon_ms):
            kept = [span for span in kept if span.has_value]
        return kept

    def _marker(
        self, header: BatchHeader, batch: memoryview, target: Segment, needed: bool
    ) -> Buffer | None:
        """Kept whole, as long as anything of its transaction was there, and a while longer."""
        if marker_in(batch) is None:
            return batch
        ended = self.transactions.end(header)
        kept: Buffer = batch
        if ended.is_empty and header.base_offset < self._keys.end:
            if not needed and self._has_passed(header.delete_horizon_ms):
                return None
            if header.delete_horizon_ms is None:
                data = _records_in(batch)
                (found,) = sliced_spans(data, header.record_count)
                kept = rebuild(header, data, found, delete_horizon_ms=self._horizon_ms)
        if ended.aborted is not None and target.aborted is not None:
            target.aborted.append(ended.aborted)
        return kept

    def _note(self, target: Segment, header: BatchHeader) -> None:
        """The time of a batch without records is nobody's: it must not be found by it."""
        timestamp = header.newest_timestamp
        target.note(header.last_offset, header.size, timestamp, self._index_interval_bytes)

    def _has_passed(self, horizon_ms: int | None) -> bool:
        return horizon_ms is not None and horizon_ms <= self._now_ms


def _emptied(header: BatchHeader, batch: memoryview) -> Buffer:
    return rebuild(header, b"", ()) if header.record_count else batch
