"""A segment's file that may hold anything: which bytes of it are batches that can be believed."""

from __future__ import annotations

import re
from collections.abc import Generator

from penstock.errors import Refused
from penstock.wire import batch as batches
from penstock.wire.batch import HEADER_SIZE, BatchHeader
from penstock.world.ports import File

CHUNK_BYTES = 1 << 20
SEARCH_BYTES = 1 << 18
SEARCH_PASSES = 8
"""How often a file may be gone through, in all, to see whether what looks like a batch is one."""
RELATIVE_OFFSET_MAX = 0x7FFFFFFF
MAGIC_AT = 16
NO_END = 1 << 63


class Window:
    """A file read in large pieces and seen as batches."""

    def __init__(self, file: File, end_offset: int | None = None) -> None:
        """`end_offset`: where the next segment begins, which no batch of this one reaches."""
        self._file = file
        self._end_offset = NO_END if end_offset is None else end_offset
        self._searchable = SEARCH_PASSES * file.size
        self.size = file.size
        self._chunk = memoryview(b"")
        self._origin = 0

    def get(self, position: int, length: int) -> memoryview:
        """Shorter at the end of the file."""
        start = position - self._origin
        if start < 0 or start + length > len(self._chunk):
            self._chunk = memoryview(self._file.read(position, max(length, CHUNK_BYTES)))
            self._origin, start = position, 0
        return self._chunk[start : start + length]

    def good_batch(self, position: int, least_offset: int) -> BatchHeader | None:
        """The header of the batch at a position if every byte of it can be believed."""
        head = self.get(position, HEADER_SIZE)
        if len(head) < HEADER_SIZE:
            return None
        size = batches.size_at(head)
        if size < HEADER_SIZE or position + size > self.size:
            return None
        try:
            header = batches.check(self.get(position, size))
        except Refused:
            return None
        if not least_offset <= header.base_offset <= header.last_offset < self._end_offset:
            return None
        if header.base_offset > least_offset and not self._may_skip(position, header, least_offset):
            return None
        return header

    def next_good(
        self, position: int, least_offset: int
    ) -> Generator[None, None, tuple[int, int] | None]:
        """Position and base offset of the next batch that can be believed."""
        looks_like_one = _beginning_with(least_offset.to_bytes(8, "big")[:4])
        while position + HEADER_SIZE <= self.size:
            piece = bytes(self.get(position, min(SEARCH_BYTES, self.size - position)))
            for match in looks_like_one.finditer(piece):
                start = position + match.start() - MAGIC_AT
                header = self._looked_at(start, least_offset)
                if header is not None:
                    return start, header.base_offset
            position += max(len(piece) - HEADER_SIZE, 1)
            yield
        return None

    def _looked_at(self, position: int, least_offset: int) -> BatchHeader | None:
        """Records may be made to look like many large batches, each of which takes its time."""
        size = batches.size_at(self.get(position, HEADER_SIZE))
        if not HEADER_SIZE <= size <= min(self.size - position, self._searchable):
            return None
        self._searchable -= size
        return self.good_batch(position, least_offset)

    def _may_skip(self, position: int, header: BatchHeader, least_offset: int) -> bool:
        """Compaction leaves gaps; but no CRC covers the offset, so a gap that is too wide for one
        segment, or that the next batch takes back, is a fault of this batch."""
        if header.last_offset - least_offset > RELATIVE_OFFSET_MAX:
            return False
        following = self.get(position + header.size, HEADER_SIZE)
        if len(following) < HEADER_SIZE:
            return True
        base: int = batches.read_header(following).base_offset
        return not least_offset < base <= header.last_offset


def _beginning_with(high: bytes) -> re.Pattern[bytes]:
    """Finds the magic byte of what may be a batch; that is looked for first, as it is fast."""
    before = re.escape(high) + b".{%d}" % (MAGIC_AT - len(high))
    return re.compile(b"\\x02(?<=" + before + b"\\x02)", re.DOTALL)
