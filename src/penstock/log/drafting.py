"""Making a segment's indexes again from its batches, which are the only truth."""

from __future__ import annotations

from collections.abc import Generator
from itertools import islice
from typing import TYPE_CHECKING

from penstock.log import scanning
from penstock.log.layout import RELATIVE_OFFSET_MAX
from penstock.log.scanning import LOOKUP_CHUNK_BYTES, SCAN_CHUNK_BYTES, NotABatch
from penstock.log.steps import BATCHES_A_SLICE, exhaust
from penstock.wire.batch import BatchHeader
from penstock.world.ports import Cold

if TYPE_CHECKING:
    from penstock.log.segment import Segment

REBUILD_INTERVAL_BYTES = 4096
WARM_BYTES = 4 << 20
LONG_AGO = 1 << 31
"""In bytes. Batches are indexed again after as much as this, and so after damage: nobody gets past
that from what lies before it."""


def rebuild(segment: Segment) -> None:
    """In memory. Stops at what is no batch: whether that is damage is for recovery to say."""
    exhaust(rebuild_in_steps(segment))


def rebuild_in_steps(segment: Segment) -> Generator[None, None, None]:
    draft = Draft(segment)
    is_whole = yield from draft.finish()
    segment.sealed = not is_whole or segment.sealed
    segment.adopt(draft.made)
    segment.newest_is_sure = is_whole


def remake_on_disk(segment: Segment) -> None:
    """Of a finished segment; but old ones stay if new ones would not reach the end."""
    exhaust(remake_in_steps(segment))


def remake_in_steps(segment: Segment) -> Generator[None, None, None]:
    draft = Draft(segment)
    is_whole = yield from draft.finish()
    if is_whole:
        draft.made.write_indexes()
        for file in draft.made.unsynced_indexes:  # were they lost, this would be done again
            file.close()
    segment.adopt(draft.made)
    segment.newest_is_sure = is_whole
    segment.forget_indexes()


class Draft:
    """A segment's indexes, made again from its batches, some of them at a time."""

    __slots__ = ("_follows_damage", "_may_have_gaps", "_source", "before", "end_offset", "made")

    def __init__(self, source: Segment, *, may_have_gaps: bool = True, start: int = 0) -> None:
        """In a log without gaps, a batch that does not follow the one before is damage; but that
        is for who can note it as such. With a start, what is made is of the batches from there."""
        self._source = source
        self._may_have_gaps = may_have_gaps
        self._follows_damage = start > 0
        self.made = source.blank()
        self.made.begin()
        self.made.size = start
        self.end_offset = source.base
        """After the batches that have been gone through."""
        self.before = source.base + RELATIVE_OFFSET_MAX + 1
        """What reaches this offset is no batch of the segment."""

    @property
    def is_complete(self) -> bool:
        return self.made.size >= self._source.size

    def finish(self) -> Generator[None, None, bool]:
        """Whether there are batches, or damage that is known of, to the very end."""
        try:
            while not self.is_complete:
                self.advance(BATCHES_A_SLICE, cold_ok=True, chunk_bytes=SCAN_CHUNK_BYTES)
                yield
        except NotABatch:
            return False
        return True

    def advance(self, most: int, cold_ok: bool, chunk_bytes: int = LOOKUP_CHUNK_BYTES) -> None:
        """By so many batches at most. NotABatch where there is damage that nobody knew of."""
        source, began = self._source, self.made.size
        read = source.reader(cold_ok)
        try:
            headers = scanning.headers(read, began, source.size, chunk_bytes, source.gaps)
            for position, header in islice(headers, most):
                self._take(position, header)
        except Cold as cold:
            if self.made.size == began:
                ahead = min(max(cold.length, WARM_BYTES), source.size - cold.position)
                raise Cold(cold.file, cold.position, ahead) from None
        except NotABatch as problem:
            if problem.position not in source.gaps:
                raise
            self.made.indexed_at = problem.position - LONG_AGO
            self.made.size = source.gaps[problem.position]
            self._follows_damage = True

    @property
    def _may_skip(self) -> bool:
        return self._may_have_gaps or self._follows_damage

    def _take(self, position: int, header: BatchHeader) -> None:
        last = header.last_offset
        if not self.end_offset <= header.base_offset <= last < self.before:
            raise NotABatch(position)
        if header.base_offset > self.end_offset and not self._may_skip:
            raise NotABatch(position)
        self._follows_damage = False
        self.made.note(last, header.size, header.newest_timestamp, REBUILD_INTERVAL_BYTES)
        self.end_offset = last + 1
