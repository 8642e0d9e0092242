"""Going from batch to batch through a file, looking at headers only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from struct import Struct
from types import MappingProxyType
from typing import NamedTuple

from penstock.wire.batch import HEADER_SIZE, LENGTH_OVERHEAD, MAGIC, BatchHeader, read_header

Read = Callable[[int, int], bytes]
"""(position, length) -> bytes, fewer at the end: File.read, or File.read_cached on the loop."""

LOOKUP_CHUNK_BYTES = 8 * 1024
SCAN_CHUNK_BYTES = 256 * 1024

Gaps = Mapping[int, int]
"""Damage that is known of: position -> where the next good batch begins. What lies in between may
look like a batch all the same."""
NO_GAPS: Gaps = MappingProxyType({})

_GLANCE = Struct(">qi4xb6xi")
_GLANCE_SIZE = _GLANCE.size


class Place(NamedTuple):
    """One batch in a file."""

    position: int
    base_offset: int
    last_offset: int
    size: int


class NotABatch(Exception):
    """The bytes at a position that should begin a batch do not."""

    def __init__(self, position: int) -> None:
        super().__init__(f"no batch at {position}")
        self.position = position


def find(read: Read, position: int, end: int, offset: int, gaps: Gaps = NO_GAPS) -> Place | None:
    """The first batch at or past a boundary whose last offset is not below the given one."""
    for place in places(read, position, end, LOOKUP_CHUNK_BYTES, gaps):
        if place.last_offset >= offset:
            return place
    return None


def place_at(read: Read, position: int, end: int, gaps: Gaps = NO_GAPS) -> Place:
    """The one batch that begins at a boundary."""
    if 0 <= position < end:
        return next(places(read, position, end, _GLANCE_SIZE, gaps))
    raise NotABatch(position)


def places(
    read: Read,
    position: int,
    end: int,
    chunk_bytes: int = SCAN_CHUNK_BYTES,
    gaps: Gaps = NO_GAPS,
) -> Iterator[Place]:
    """All batches from a boundary to the end, as cheaply as they can be told apart."""
    chunk, origin, filled = b"", position, 0
    while position < end:
        if position in gaps:
            raise NotABatch(position)
        if position + _GLANCE_SIZE > origin + filled:
            chunk, origin = read(position, min(chunk_bytes, end - position)), position
            filled = len(chunk)
            if filled < _GLANCE_SIZE:
                raise NotABatch(position)
        base, length, magic, delta = _GLANCE.unpack_from(chunk, position - origin)
        size = length + LENGTH_OVERHEAD
        if magic != MAGIC or size < HEADER_SIZE or position + size > end or delta < 0:
            raise NotABatch(position)
        yield Place(position, base, base + delta, size)
        position += size


def headers(
    read: Read,
    position: int,
    end: int,
    chunk_bytes: int = SCAN_CHUNK_BYTES,
    gaps: Gaps = NO_GAPS,
) -> Iterator[tuple[int, BatchHeader]]:
    """The same with whole headers: for rebuilding what is derived from them."""
    chunk, origin, filled = b"", position, 0
    while position < end:
        if position in gaps:
            raise NotABatch(position)
        if position + HEADER_SIZE > origin + filled:
            chunk, origin = read(position, min(chunk_bytes, end - position)), position
            filled = len(chunk)
            if filled < HEADER_SIZE:
                raise NotABatch(position)
        header = read_header(chunk, position - origin)
        size = header.length + LENGTH_OVERHEAD
        if header.magic != MAGIC or size < HEADER_SIZE or position + size > end:
            raise NotABatch(position)
        yield position, header
        position += size


def headers_outside(
    read: Read, position: int, end: int, gaps: Gaps
) -> Iterator[tuple[int, BatchHeader]]:
    """All but those in stretches that are known to be damaged, and none after what is not known."""
    while position < end:
        try:
            yield from headers(read, position, end, gaps=gaps)
            return
        except NotABatch as problem:
            after = gaps.get(problem.position, 0)
            if after <= problem.position:
                return
            position = after
