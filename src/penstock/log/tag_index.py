"""Which tags the batches of a segment have, so that readers of views pass those that cannot match.

It is made as views are read, in blocks of some 32 KiB, or of one batch where batches are larger: by
name, all values that a header has in the block, if there are few. Only names that predicates ask
for are noted. Like other indexes it is derived: what is not in it is read, and noted then.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from penstock.predicate.pruning import MANY, HeaderValues, Summary
from penstock.predicate.summarising import summary_of
from penstock.wire.batch import BatchHeader

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog
    from penstock.log.reading import Slice

BLOCK_BYTES = 32 << 10
VALUES_MAX = 16
"""Of one name in a block; where there are more it says nothing of that name."""
VALUE_BYTES_MAX = 64
"""Longer ones are hardly tags."""
NAMES_MAX = 32

Values = frozenset[bytes | None] | None
"""Of a header, None among them where a record has none; None where there are too many to tell."""
Tags = tuple[Values, ...]
"""In the order of an index's names."""


class Block(NamedTuple):
    end: int
    """The offset behind it."""
    size: int
    times: tuple[int, int]
    """The least timestamp and the greatest."""
    names: tuple[bytes, ...]
    tags: Tags


class TagIndex:
    """Of one segment. Blocks do not overlap; there may be gaps between them."""

    __slots__ = (
        "_ends",
        "_firsts",
        "_greatest",
        "_kinds",
        "_known",
        "_least",
        "_sizes",
        "cuts",
        "names",
    )

    def __init__(self, names: tuple[bytes, ...], cuts: int) -> None:
        self.names = names
        self.cuts = cuts
        """The segment's when this was begun: since another, what was read may stand there no
        more."""
        self._firsts, self._ends, self._sizes = array("q"), array("q"), array("q")
        self._least, self._greatest = array("q"), array("q")
        self._kinds: list[Tags] = []
        """For each block. Most blocks have the same ones, which are kept once."""
        self._known: dict[Tags, Tags] = {}

    def __len__(self) -> int:
        return len(self._firsts)

    def block_at(self, offset: int) -> Block | None:
        """The one that holds an offset."""
        at = bisect_right(self._firsts, offset) - 1
        if at < 0 or self._ends[at] <= offset:
            return None
        times = self._least[at], self._greatest[at]
        return Block(self._ends[at], self._sizes[at], times, self.names, self._kinds[at])

    def knows(self, offset: int) -> bool:
        """Whether a block holds it."""
        at = bisect_right(self._firsts, offset) - 1
        return at >= 0 and self._ends[at] > offset

    def note(self, header: BatchHeader, summary: Summary) -> None:
        """A batch that no block holds yet, by what `digest` says of it."""
        first, end, size = header.base_offset, header.next_offset, header.size
        if self.knows(first):
            return
        *times, found = summary
        tags = tuple(_values(found[name]) for name in self.names)
        at = bisect_right(self._firsts, first) - 1
        if at >= 0 and self._ends[at] == first and self._sizes[at] + size <= BLOCK_BYTES:
            self._extend(at, end, size, times, tags)
            return
        at += 1
        self._firsts.insert(at, first)
        self._ends.insert(at, end)
        self._sizes.insert(at, size)
        self._least.insert(at, times[0])
        self._greatest.insert(at, times[1])
        self._kinds.insert(at, self._shared(tags))

    def _extend(self, at: int, end: int, size: int, times: Sequence[int], tags: Tags) -> None:
        self._ends[at] = end
        self._sizes[at] += size
        self._least[at] = min(self._least[at], times[0])
        self._greatest[at] = max(self._greatest[at], times[1])
        if tags != self._kinds[at]:
            self._kinds[at] = self._shared(tuple(map(_together, self._kinds[at], tags)))

    def _shared(self, tags: Tags) -> Tags:
        if len(self._known) > len(self._firsts):
            self._known.clear()  # hardly any are alike
        return self._known.setdefault(tags, tags)


def _values(found: HeaderValues) -> Values:
    return None if found is MANY else frozenset(found)


def _together(one: Values, other: Values) -> Values:
    if one is None or other is None:
        return None
    both = one | other
    return both if len(both) <= VALUES_MAX else None


def digest(header: BatchHeader, records: bytes, names: tuple[bytes, ...]) -> Summary:
    """What an index notes of a batch with these records; Malformed where one is wrong."""
    return summary_of(header, records, names, VALUES_MAX, VALUE_BYTES_MAX)


def index_of(log: PartitionLog, found: Slice, names: tuple[bytes, ...]) -> TagIndex:
    """Of the segment that was read, begun anew where it cannot say anything of these names."""
    at = log.segment_of(found.offset)
    while log.segments[at].file is not found.range.file:  # compaction may leave empty ones
        at += 1
    segment = log.segments[at]
    index = segment.tags
    if index is None or index.cuts != segment.cuts:
        index = segment.tags = TagIndex(names, segment.cuts)
    elif not set(names) <= set(index.names):
        both = tuple(dict.fromkeys((*names, *index.names)))[:NAMES_MAX]
        index = segment.tags = TagIndex(both, segment.cuts)
    return index


def block_at(log: PartitionLog, offset: int) -> Block | None:
    """What is known of the block that holds an offset."""
    segment = log.segments[log.segment_of(offset)]
    index = segment.tags
    return index.block_at(offset) if index is not None and index.cuts == segment.cuts else None


def skipped(
    log: PartitionLog, offset: int, may_match: Callable[[Block], bool], most: int
) -> tuple[int, int]:
    """Where the first block begins from an offset on that may match, or is not known; and the bytes
    that lie before it. No further than `most` blocks."""
    size, at = 0, log.segment_of(offset)
    for segment in log.segments[at:]:
        index = segment.tags
        if index is None or index.cuts != segment.cuts:
            break
        offset = max(offset, segment.base)
        while most and (block := index.block_at(offset)) and not may_match(block):
            offset, size, most = block.end, size + block.size, most - 1
        if not most or segment is log.active or offset < log.segments[at + 1].base:
            break
        at += 1
    return offset, size
