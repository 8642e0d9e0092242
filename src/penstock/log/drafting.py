"""Making a segment's indexes again from its batches, which are the only truth."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

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
RECENT_MAX = 8
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


class Taken(NamedTuple):
    """A batch that a draft has gone past, going by its header."""

    position: int
    header: BatchHeader
    least_offset: int
    """What its offset could be at least; in a log without gaps this is what it had to be."""
    may_skip: bool


class Draft:
    """A segment's indexes, made again from its batches, some of them at a time."""

    __slots__ = (
        "_follows_damage",
        "_may_have_gaps",
        "_source",
        "before",
        "end_offset",
        "made",
        "position",
        "recent",
    )

    def __init__(self, source: Segment, *, may_have_gaps: bool = True, start: int = 0) -> None:
        """In a log without gaps, a batch that does not follow the one before is damage; but that
        is for who can note it as such. With a start, what is made is of the batches from there."""
        self._source = source
        self._may_have_gaps = may_have_gaps
        self._follows_damage = start > 0
        self.made = source.blank()
        self.made.begin()
        self.made.size = self.position = start
        self.end_offset = source.base
        """After the batches that have been gone through."""
        self.before = source.base + RELATIVE_OFFSET_MAX + 1
        """What reaches this offset is no batch of the segment."""
        self.recent: deque[Taken] = deque()
        """The last ones, which are not indexed before it has shown that others follow them: a wrong
        header leads to where there is no batch, or not the next one."""

    @property
    def is_at_end(self) -> bool:
        return self.position >= self._source.size

    @property
    def is_complete(self) -> bool:
        """Not where records are missing at the end, and a recent batch may be why."""
        is_reached = self._may_skip or self.end_offset >= self.before
        return self.is_at_end and (is_reached or not self.recent)

    def finish(self) -> Generator[None, None, bool]:
        """Whether there are batches, or damage that is known of, to the very end."""
        is_whole = False
        with suppress(NotABatch):
            while not self.is_at_end:
                self.advance(BATCHES_A_SLICE, cold_ok=True, chunk_bytes=SCAN_CHUNK_BYTES)
                yield
            is_whole = True
        self.settle()
        return is_whole

    def advance(self, most: int, cold_ok: bool, chunk_bytes: int = LOOKUP_CHUNK_BYTES) -> None:
        """By so many batches at most. NotABatch where there is damage that nobody knew of, or one
        before has led to the wrong place."""
        source, began = self._source, self.position
        if self.is_at_end:
            raise NotABatch(began)
        read = source.reader(cold_ok)
        try:
            headers = scanning.headers(read, began, source.size, chunk_bytes, source.gaps)
            for position, header in islice(headers, most):
                self._take(position, header)
        except Cold as cold:
            if self.position == began:
                ahead = min(max(cold.length, WARM_BYTES), source.size - cold.position)
                raise Cold(cold.file, cold.position, ahead) from None
        except NotABatch as problem:
            if problem.position not in source.gaps:
                raise
            self._skip(problem.position, source.gaps[problem.position])

    @property
    def _may_skip(self) -> bool:
        return self._may_have_gaps or self._follows_damage

    def _take(self, position: int, header: BatchHeader) -> None:
        last = header.last_offset
        if not self.end_offset <= header.base_offset <= last < self.before:
            raise NotABatch(position)
        if header.base_offset > self.end_offset and not self._may_skip:
            raise NotABatch(position)
        self.recent.append(Taken(position, header, self.end_offset, self._may_skip))
        if len(self.recent) > RECENT_MAX:
            self._index(self.recent.popleft().header)
        self._follows_damage = False
        self.position = position + header.size
        self.end_offset = last + 1

    def _index(self, header: BatchHeader) -> None:
        newest = header.newest_timestamp
        self.made.note(header.last_offset, header.size, newest, REBUILD_INTERVAL_BYTES)

    def _skip(self, position: int, after: int) -> None:
        """Damage that is known of."""
        self.settle()
        self.made.indexed_at = position - LONG_AGO
        self.made.size = self.position = after
        self._follows_damage = True

    def settle(self) -> None:
        """The recent ones are as they should be, or nothing better is known."""
        while self.recent:
            self._index(self.recent.popleft().header)

    def go_back(self, wrong: Taken) -> None:
        """To a recent batch: it is not as it should be, and all that came after was a mistake."""
        while self.recent[-1] is not wrong:
            self.recent.pop()
        self.recent.pop()
        self.settle()
        self.position, self.end_offset = wrong.position, wrong.least_offset
