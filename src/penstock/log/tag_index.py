"""Which tags the batches of a segment have, so that readers of views pass those that cannot match.

It is made as views are read, in blocks of some 32 KiB, or of one batch where batches are larger: by
name, all values that a header has in the block, if there are few. Only names that predicates ask
for are noted. Like other indexes it is derived: what is not in it is read, and noted then.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import NamedTuple

from penstock.predicate.instants import FIRST, LAST
from penstock.predicate.pruning import MANY, HeaderValues, Summary
from penstock.predicate.summarising import summary_of
from penstock.wire.batch import BatchHeader

BLOCK_BYTES = 32 << 10
VALUES_MAX = 16
"""Of one name in a block; where there are more it says nothing of that name."""
VALUE_BYTES_MAX = 64
"""Longer ones are hardly tags."""
NAMES_MAX = 32
"""Of those that are asked for, the first ones. It says nothing of others."""
BLOCKS_MAX = 100_000
"""3 GiB of a segment, if its batches are not very small. What lies behind is read every time."""
BLOCK_WEIGHT, TAGS_WEIGHT, VALUE_WEIGHT = 56, 200, 60

Values = frozenset[bytes | None] | None
"""Of a header, None among them where a record has none; None where there are too many to tell."""
Names = tuple[bytes, ...]
Tags = tuple[Values, ...]
"""In the order of an index's names."""


class Block(NamedTuple):
    end: int
    """The offset behind it."""
    size: int
    times: tuple[int, int]
    """The least timestamp and the greatest."""
    names: Names
    tags: Tags


class Columns(NamedTuple):
    """All blocks, in order."""

    firsts: array[int]
    ends: array[int]
    sizes: array[int]
    least: array[int]
    greatest: array[int]
    kinds: list[Tags]
    """Most blocks have the same ones, which are kept once."""


class TagIndex:
    """Of one segment. Blocks do not overlap; there may be gaps between them."""

    __slots__ = ("_blocks", "_known", "bytes", "cuts", "last_crc", "last_size", "names", "weight")

    def __init__(self, names: Names, cuts: int) -> None:
        self.names = names
        self.cuts = cuts
        """The segment's when this was begun: since another, what was read may stand there no
        more."""
        self._blocks = Columns(array("q"), array("q"), array("q"), array("q"), array("q"), [])
        self._known: dict[Tags, Tags] = {}
        self.bytes = 0
        """Of the batches in it. All of its segment's, and nothing is missing."""
        self.last_size = self.last_crc = 0
        """Of the last batch in it."""
        self.weight = 0
        """Of this in memory, about, in bytes."""

    def __len__(self) -> int:
        return len(self._blocks.firsts)

    def columns(self) -> Columns:
        return self._blocks

    def restore(self, blocks: Columns) -> None:
        """What `columns` gave."""
        self._blocks = blocks
        self.bytes = sum(blocks.sizes)
        self.weight = len(self) * BLOCK_WEIGHT
        for tags in blocks.kinds:
            self._shared(tags)

    def _at(self, offset: int) -> int:
        """The block that holds an offset; -1 if none does."""
        at = bisect_right(self._blocks.firsts, offset) - 1
        return at if at >= 0 and self._blocks.ends[at] > offset else -1

    def block_at(self, offset: int) -> Block | None:
        at = self._at(offset)
        if at < 0:
            return None
        _, ends, sizes, least, greatest, kinds = self._blocks
        return Block(ends[at], sizes[at], (least[at], greatest[at]), self.names, kinds[at])

    def knows(self, offset: int) -> bool:
        return self._at(offset) >= 0

    def note(self, header: BatchHeader, summary: Summary) -> None:
        """A batch that no block holds yet, by what `digest` says of it."""
        first, end, size = header.base_offset, header.next_offset, header.size
        blocks = self._blocks
        if self.knows(first) or len(self) >= BLOCKS_MAX:
            return
        least, greatest, found = summary
        tags = tuple(_values(found[name]) for name in self.names)
        at = bisect_right(blocks.firsts, first) - 1
        self.bytes += size
        if at == len(self) - 1:
            self.last_size, self.last_crc = size, header.crc
        if at >= 0 and self._may_extend(at, header, least):
            self._extend(at, header, least, greatest, tags)
            return
        values = first, end, size, least, greatest
        for column, value in zip(blocks[:-1], values, strict=True):
            column.insert(at + 1, value)
        blocks.kinds.insert(at + 1, self._shared(tags))
        self.weight += BLOCK_WEIGHT

    def _may_extend(self, at: int, header: BatchHeader, least: int) -> bool:
        """Control batches stay by themselves, since they are always read."""
        blocks = self._blocks
        return (
            blocks.ends[at] == header.base_offset
            and blocks.sizes[at] + header.size <= BLOCK_BYTES
            and blocks.least[at] != FIRST
            and least != FIRST
        )

    def _extend(self, at: int, header: BatchHeader, least: int, greatest: int, tags: Tags) -> None:
        blocks = self._blocks
        blocks.ends[at] = header.next_offset
        blocks.sizes[at] += header.size
        blocks.least[at] = min(blocks.least[at], least)
        blocks.greatest[at] = max(blocks.greatest[at], greatest)
        if tags != blocks.kinds[at]:
            blocks.kinds[at] = self._shared(tuple(map(_together, blocks.kinds[at], tags)))

    def _shared(self, tags: Tags) -> Tags:
        if len(self._known) > len(self) + 1:
            self._known.clear()  # hardly any are alike
        known = self._known.get(tags)
        if known is None:
            self._known[tags] = known = tags
            self.weight += _weight(tags)
        return known


def _weight(tags: Tags) -> int:
    values = [value for found in tags for value in found or ()]
    return TAGS_WEIGHT + sum(VALUE_WEIGHT + len(value or b"") for value in values)


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


def anything(names: tuple[bytes, ...]) -> Summary:
    """Of a batch that is to be read, whatever is asked."""
    return Summary(FIRST, LAST, dict.fromkeys(names, MANY))
