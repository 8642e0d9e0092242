"""One partition of a view, as a fetch reads it: what matches of its topic's batches.

The log is gone through in chunks, with a pause after each, from where the reader is to the high
watermark, or until there is enough for an answer. Stretches whose tags are known from the index
(`log/tag_index.py`) and cannot match are not read at all. What is left out at the end of an answer
is spanned by an empty batch, so that readers go on behind it.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import Malformed, Refused
from penstock.log import tag_index
from penstock.log.partition_log import PartitionLog
from penstock.log.reading import Slice
from penstock.log.tag_index import Block, TagIndex, Tags
from penstock.metadata.views import View
from penstock.predicate.predicate import Predicate, parse
from penstock.predicate.pruning import MANY, Summary
from penstock.wire.batch import NO_TIMESTAMP, read_header, size_at
from penstock.wire.choosing import Verdicts
from penstock.wire.compression import DECOMPRESSED_BYTES_MAX
from penstock.wire.narrowing import narrowed, spanning
from penstock.wire.records import OFFSET_DELTA_MAX
from penstock.world.ports import Buffer

CHUNK_BYTES = 64 << 10
"""Of batches that are looked into at once: a millisecond."""
LEAST_BYTES = 4 << 10
PASSED_AT_MOST = 64 << 20
"""Bytes without enough to answer, before the reader is told how far it is."""
SKIPPED_FOR_READ = 64
"""Bytes that are skipped take as long as one that is read."""
BLOCKS_AT_ONCE = 2000
"""Of the index: a millisecond."""
TAGS_MAX = 10_000


class Sieve:
    """A view's predicate, and what it has said of tags before: there are few of them."""

    __slots__ = ("_tags", "_verdicts", "predicate")

    def __init__(self, predicate: Predicate) -> None:
        self.predicate = predicate
        self._verdicts: Verdicts = {}
        self._tags: dict[Tags, bool] = {}
        """Which of those that whole blocks have can match."""

    def narrowed(self, batch: Buffer) -> Buffer | None:
        return narrowed(batch, self.predicate, self._verdicts, DECOMPRESSED_BYTES_MAX)

    def may_match(self, block: Block) -> bool:
        if self.predicate.uses_timestamp:
            return self.predicate.may_match(_summary(block))
        known = self._tags.get(block.tags)
        if known is None:
            if len(self._tags) > TAGS_MAX:
                self._tags.clear()
            known = self._tags[block.tags] = self.predicate.may_match(_summary(block))
        return known


def _summary(block: Block) -> Summary:
    values = {
        name: MANY if found is None else found
        for name, found in zip(block.names, block.tags, strict=True)
    }
    return Summary(*block.times, values)


class Sieves:
    """Of the views that are read here."""

    def __init__(self) -> None:
        self._by_id: dict[bytes, Sieve] = {}

    def of(self, view: View) -> Sieve:
        """Raises Refused where the predicate is of a later release, with more to it."""
        found = self._by_id.get(view.id)
        if found is None:
            found = self._by_id[view.id] = Sieve(parse(view.held.where))
        return found

    def forget(self, view_id: bytes) -> None:
        self._by_id.pop(view_id, None)


class Viewing:
    __slots__ = ("_matched_to", "_pieces", "_sieve", "offset", "passed_bytes", "size")

    def __init__(self, sieve: Sieve, offset: int) -> None:
        self._sieve = sieve
        self.offset = offset
        """All before it has been looked at."""
        self._matched_to = offset
        self.passed_bytes = 0
        """That were read; and a small part of those that were skipped."""
        self._pieces: list[Buffer] = []
        self.size = 0

    def is_at_end(self, before: int, most_bytes: int) -> bool:
        """Whether it is time to answer, or nothing is left to look at."""
        return self.offset >= before or self.size >= most_bytes or self.has_passed_much

    @property
    def has_match(self) -> bool:
        return bool(self._pieces)

    @property
    def has_passed_much(self) -> bool:
        return self.passed_bytes >= PASSED_AT_MOST

    def go_on(self, log: PartitionLog, before: int, most_bytes: int, *, cold_ok: bool) -> None:
        """One chunk further. Raises what reading raises; then it may be tried again."""
        self._skip(log, before)
        room = max(min(CHUNK_BYTES, most_bytes - self.size), LEAST_BYTES)
        block = tag_index.block_at(log, self.offset)
        end = min(before, block.end) if block else before
        found = log.read(self.offset, room, end, at_least_one=True, cold_ok=cold_ok)
        if found is None:
            return
        data = _bytes_of(found, cold_ok)
        index = tag_index.index_of(log, found.range.file, self._sieve.predicate.names)
        for batch in _batches(data):
            self._take(index, batch)
        self.passed_bytes += len(data)
        self.offset = found.next_offset

    def _skip(self, log: PartitionLog, before: int) -> None:
        """What cannot match, for all that is known of it."""
        may_match = self._sieve.may_match
        offset, size = tag_index.skipped(log, self.offset, may_match, BLOCKS_AT_ONCE)
        self.offset = max(self.offset, min(offset, before))
        self.passed_bytes += size // SKIPPED_FOR_READ

    def _take(self, index: TagIndex, batch: memoryview) -> None:
        try:
            kept = self._sieve.narrowed(batch)
            index.note(batch)
        except (Malformed, Refused):  # damaged: the reader is to find that out, by its checksum
            kept = batch
        if kept is not None:
            self._pieces.append(kept)
            self.size += len(kept)
            self._matched_to = read_header(batch).next_offset

    def take(self) -> list[Buffer]:
        """What has matched since the last time: batches, one piece each."""
        pieces, self._pieces = self._pieces, []
        return pieces

    def chosen(self, log: PartitionLog) -> bytes:
        """What there is so far, up to `offset`."""
        pieces, first = list(self._pieces), self._matched_to
        while first < self.offset:
            last = min(self.offset - 1, first + OFFSET_DELTA_MAX)
            pieces.append(spanning(first, last, log.epochs.epoch_at(last), NO_TIMESTAMP))
            first = last + 1
        return b"".join(pieces)


def _bytes_of(found: Slice, cold_ok: bool) -> memoryview:
    part = found.range
    read = part.file.read if cold_ok else part.file.read_cached
    return memoryview(read(part.position, part.length))


def _batches(data: memoryview) -> Iterator[memoryview]:
    position = 0
    while position < len(data):
        size = size_at(data, position)
        yield data[position : position + size]
        position += size
