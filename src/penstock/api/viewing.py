"""One partition of a view, as a fetch reads it: what matches of its topic's batches.

The log is gone through in chunks, with a pause after each, from where the reader is to the high
watermark, or until there is enough for an answer. Stretches whose tags are known from the index
(`log/tagging.py`) and cannot match are not read at all. What is left out at the end of an answer
is spanned by a batch with nothing for readers, who go on behind it.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.api.sieves import Heavy, Looked, Looking, Sieve
from penstock.errors import Refused
from penstock.log import tagging
from penstock.log.partition_log import PartitionLog
from penstock.log.reading import Slice, bytes_of
from penstock.log.segment import Amiss
from penstock.log.steps import Apart, Steps, warmed
from penstock.log.tag_index import TagIndex
from penstock.wire.batch import NO_TIMESTAMP, batches_in, read_header
from penstock.wire.narrowing import spanning
from penstock.wire.records import OFFSET_DELTA_MAX
from penstock.world.ports import Buffer

CHUNK_BYTES = 256 << 10
"""Of batches that are read at once."""
COST_AT_ONCE = 512 << 10
"""Of looking into batches, in bytes (`Looked.cost`): a millisecond or two."""
CHUNKS_AT_ONCE = 16
"""Before whoever reads looks at what else has changed."""
LEAST_BYTES = 4 << 10
PASSED_AT_MOST = 64 << 20
"""Bytes without enough to answer, before the reader is told how far it is: a second, or two. All
partitions of a fetch share in it, or readers of many would take it for lost."""
PASSED_AT_LEAST = 256 << 10
"""Of one partition."""
SKIPPED_FOR_READ = 64
"""Bytes that are skipped take as long as one that is read."""
BLOCKS_AT_ONCE = 2000
"""Of the index: a millisecond."""


class _Apart:
    """A heavy batch, looked into off the loop."""

    __slots__ = ("_batch", "_index", "_looking", "_place", "looked")

    def __init__(self, looking: Looking, batch: memoryview, index: TagIndex) -> None:
        self._looking = looking
        self._batch = batch
        self._index = index
        self._place = _place(batch)
        self.looked: Looked | None = None

    def run(self) -> None:
        self.looked = self._looking.look(self._batch, self._index, light=False)

    def is_of(self, batch: memoryview) -> bool:
        """Whether it stands there still: what was read before may have been cut off since."""
        return self.looked is not None and _place(batch) == self._place


class Partly:
    """What is common to all who see a part of a partition; `go_on` is their own."""

    __slots__ = (
        "_apart",
        "_chosen",
        "_first",
        "_looking",
        "_matched_to",
        "_pieces",
        "_to_pass",
        "has_failed",
        "offset",
        "passed_bytes",
        "size",
    )

    def __init__(self, looking: Looking, offset: int, partitions: int = 1) -> None:
        """One of so many partitions that are read together."""
        self._looking = looking
        self._to_pass = max(PASSED_AT_MOST // partitions, PASSED_AT_LEAST)
        self.offset = offset
        """All before it has been looked at."""
        self._first = self._matched_to = offset
        self.passed_bytes = 0
        """That were read; and a small part of those that were skipped."""
        self._pieces: list[Buffer] = []
        self.size = 0
        self._apart: _Apart | None = None
        self.has_failed = False
        """In steps, where nobody was told: who goes on reads whatever is cold, to find out why."""
        self._chosen: tuple[int, bytes] | None = None
        """What was chosen up to an offset: other partitions may take many looks more."""

    def limit(self, before: int) -> int:
        """How far it may be read, where nobody may read past an offset."""
        return before

    def is_at_end(self, before: int, most_bytes: int) -> bool:
        """Whether it is time to answer, or nothing is left to look at."""
        return self.offset >= before or self.size >= most_bytes or self.has_passed_much

    @property
    def has_match(self) -> bool:
        return bool(self._pieces)

    @property
    def has_moved(self) -> bool:
        return self.offset > self._first

    @property
    def has_passed_much(self) -> bool:
        return self.passed_bytes >= self._to_pass

    def go_on(
        self, log: PartitionLog, before: int, most_bytes: int, *, cold_ok: bool
    ) -> Apart | None:
        """One chunk further; or what has to be done off the loop before that. Raises what reading
        raises; then it may be tried again."""
        raise NotImplementedError

    def room(self, most_bytes: int) -> int:
        return max(min(CHUNK_BYTES, most_bytes - self.size), LEAST_BYTES)

    def _go_through(self, found: Slice, data: memoryview, index: TagIndex) -> Apart | None:
        left = COST_AT_ONCE
        for batch in batches_in(data):
            looked = self._look(batch, index)
            if looked is None:
                assert self._apart is not None
                return Apart(self._apart.run)
            self._take(index, looked)
            left -= looked.cost
            if left <= 0:
                return None
        self.offset = found.next_offset
        return None

    def in_steps(self, log: PartitionLog, before: int, most_bytes: int) -> Steps[None]:
        """Some chunks further, with pauses. What is cold is warmed first, however much that is."""

        def go_on(cold_ok: bool) -> Apart | None:
            return self.go_on(log, before, most_bytes, cold_ok=cold_ok)

        try:
            for _ in range(CHUNKS_AT_ONCE):
                if self.is_at_end(before, most_bytes):
                    break
                yield (yield from warmed(go_on))
        except (Amiss, OSError, Refused):
            self.has_failed = True

    def _look(self, batch: memoryview, index: TagIndex) -> Looked | None:
        """None where it is too heavy."""
        apart, self._apart = self._apart, None
        if apart is not None and apart.is_of(batch):
            return apart.looked
        try:
            return self._looking.look(batch, index, light=True)
        except Heavy:
            self._apart = _Apart(self._looking, batch, index)
            return None

    def _take(self, index: TagIndex, looked: Looked) -> None:
        header, kept = looked.header, looked.kept
        self.offset = max(self.offset, header.next_offset)
        self.passed_bytes += header.size
        if looked.summary is not None and looked.names == index.names:
            index.note(header, looked.summary)
        if kept is not None:
            self._pieces.append(kept)
            self.size += len(kept)
            self._matched_to = header.next_offset

    def take(self) -> list[Buffer]:
        """What has matched since the last time: batches, one piece each."""
        pieces, self._pieces = self._pieces, []
        return pieces

    def chosen(self, log: PartitionLog) -> bytes:
        """What there is so far, up to `offset`."""
        if self._chosen is None or self._chosen[0] != self.offset:
            self._chosen = self.offset, b"".join([*self._pieces, *self._spans(log)])
        return self._chosen[1]

    def _spans(self, log: PartitionLog) -> Iterator[Buffer]:
        """Over what does not match at the end."""
        first = self._matched_to
        while first < self.offset:
            last = min(self.offset - 1, first + OFFSET_DELTA_MAX)
            yield spanning(first, last, log.epochs.epoch_at(last), NO_TIMESTAMP)
            first = last + 1


class Viewing(Partly):
    """A view's, which knows by the index of tags where it need not look."""

    __slots__ = ("_sieve",)

    def __init__(self, sieve: Sieve, offset: int, partitions: int = 1) -> None:
        super().__init__(sieve, offset, partitions)
        self._sieve = sieve

    def go_on(
        self, log: PartitionLog, before: int, most_bytes: int, *, cold_ok: bool
    ) -> Apart | None:
        self._skip(log, before, cold_ok)
        room = self.room(most_bytes)
        block = tagging.block_at(log, self.offset, cold_ok)
        end = min(before, block.end) if block else before
        found = log.read(self.offset, room, end, at_least_one=True, cold_ok=cold_ok)
        if found is None:
            return None
        segment = tagging.segment_read(log, found)
        index = tagging.index_of(log, segment, self._sieve.predicate.names, cold_ok)
        apart = self._go_through(found, bytes_of(found, cold_ok), index)
        tagging.noted(log, segment)
        return apart

    def _skip(self, log: PartitionLog, before: int, cold_ok: bool) -> None:
        """What cannot match, for all that is known of it."""
        may_match = self._sieve.may_match
        offset, size = tagging.skipped(log, self.offset, may_match, BLOCKS_AT_ONCE, cold_ok)
        self.offset = max(self.offset, min(offset, before))
        self.passed_bytes += size // SKIPPED_FOR_READ


def _place(batch: memoryview) -> tuple[int, int]:
    header = read_header(batch)
    return header.base_offset, header.crc
