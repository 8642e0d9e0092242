"""A segment's file that may hold anything: which bytes of it are batches that can be believed."""

from __future__ import annotations

import re
from collections.abc import Generator

from crc32c import crc32c

from penstock.errors import Refused
from penstock.log.drafting import Taken
from penstock.log.layout import RELATIVE_OFFSET_MAX
from penstock.wire import batch as batches
from penstock.wire.batch import HEADER_SIZE, MAGIC, BatchHeader
from penstock.world.ports import File

CHUNK_BYTES = 1 << 20
SEARCH_BYTES = 1 << 18
SEARCH_PASSES = 8
"""How often a file may be gone through, in all, to see whether what looks like a batch is one."""
MAGIC_AT = 16


class Window:
    """A file read in large pieces and seen as batches."""

    def __init__(
        self,
        file: File,
        base: int,
        end_offset: int | None = None,
        *,
        may_have_gaps: bool = True,
    ) -> None:
        """`end_offset`: where the next segment begins, which no batch of this one reaches."""
        self._file = file
        room = base + RELATIVE_OFFSET_MAX + 1
        self._end_offset = room if end_offset is None else min(end_offset, room)
        self._may_have_gaps = may_have_gaps
        self._searchable = SEARCH_PASSES * file.size
        self.size = file.size
        self.unseen_end = 0
        """After all that looked like a batch in the last search and could not be looked at."""
        self._chunk = memoryview(b"")
        self._origin = 0

    def get(self, position: int, length: int) -> memoryview:
        """Shorter at the end of the file."""
        start = position - self._origin
        if start < 0 or start + length > len(self._chunk):
            self._chunk = memoryview(self._file.read(position, max(length, CHUNK_BYTES)))
            self._origin, start = position, 0
        return self._chunk[start : start + length]

    def forget(self) -> None:
        """What was read so far may not be what the file holds now."""
        self._chunk = memoryview(b"")

    def good_batch(self, position: int, least_offset: int) -> BatchHeader | None:
        """The header of the batch at a position if every byte of it can be believed.

        In a log without gaps its offset can be but one.
        """
        header = self._good_after_loss(position, least_offset)
        if header is None or header.base_offset == least_offset or self._may_have_gaps:
            return header
        return None

    def bears_out(self, taken: Taken) -> bool:
        """Whether a batch that was taken for one by its header can be believed in all else."""
        header = self._good_after_loss(taken.position, taken.least_offset)
        return header is not None and (taken.may_skip or header.base_offset == taken.least_offset)

    def _good_after_loss(self, position: int, least_offset: int) -> BatchHeader | None:
        """The same where batches before it are lost, and it is not known how many."""
        header = self.whole_batch(position)
        if header is None:
            return None
        if not least_offset <= header.base_offset <= header.last_offset < self._end_offset:
            return None
        skips = header.base_offset > least_offset
        return None if skips and self._is_taken_back(position, header, least_offset) else header

    def whole_batch(self, position: int) -> BatchHeader | None:
        """The header of a batch that has all its bytes; but its offset, which no CRC covers, may
        be any."""
        head = self.get(position, HEADER_SIZE)
        if len(head) < HEADER_SIZE:
            return None
        size = batches.size_at(head)
        if size < HEADER_SIZE or position + size > self.size:
            return None
        try:
            return batches.check(self.get(position, size))
        except Refused:
            return None

    def next_good(
        self, bad: int, least_offset: int
    ) -> Generator[None, None, tuple[int, int] | None]:
        """Position and base offset of the next batch that can be believed after bytes that cannot.

        Records may hold batches. So what lies within a bad batch, by its own account, is none of
        the log's, unless the account was wrong of nothing but the batch's length.
        """
        inside = self._inside(bad, least_offset)
        least_offset += 1  # the bad one had a record at least
        looks_like_one = _beginning_with(least_offset.to_bytes(8, "big")[:4])
        position, self.unseen_end = bad + 1, 0
        while position + HEADER_SIZE <= self.size:
            piece = bytes(self.get(position, min(SEARCH_BYTES, self.size - position)))
            for match in looks_like_one.finditer(piece):
                start = position + match.start() - MAGIC_AT
                header = None if inside.hides(start) else self._looked_at(start, least_offset)
                if header is not None:
                    return start, header.base_offset
            position += max(len(piece) - HEADER_SIZE, 1)
            yield
        return None

    def _inside(self, bad: int, least_offset: int) -> _Inside:
        head = self.get(bad, HEADER_SIZE)
        if len(head) == HEADER_SIZE:
            header = batches.read_header(head)
            is_here = least_offset <= header.base_offset <= header.last_offset < self._end_offset
            is_batch = header.magic == MAGIC and header.size >= HEADER_SIZE
            if is_batch and (is_here or self.whole_batch(bad) is not None):
                return _Inside(self, bad, bad + header.size, header.crc)
        return _Inside(self, bad, bad, 0)

    def _looked_at(self, position: int, least_offset: int) -> BatchHeader | None:
        """Records may be made to look like many large batches, each of which takes its time."""
        head = self.get(position, HEADER_SIZE)
        if len(head) < HEADER_SIZE:
            return None
        header = batches.read_header(head)
        if not HEADER_SIZE <= header.size <= self.size - position:
            return None
        if not least_offset <= header.base_offset <= header.last_offset < self._end_offset:
            return None
        if header.size > self._searchable:
            self.unseen_end = max(self.unseen_end, header.next_offset)
            return None
        self._searchable -= header.size
        return self._good_after_loss(position, least_offset)

    def _is_taken_back(self, position: int, header: BatchHeader, least_offset: int) -> bool:
        """Compaction leaves gaps; but no CRC covers the offset, so a gap that the next batch takes
        back is a fault of this batch."""
        following = self.get(position + header.size, HEADER_SIZE)
        if len(following) < HEADER_SIZE:
            return False
        base: int = batches.read_header(following).base_offset
        return least_offset < base <= header.last_offset


class _Inside:
    """What a bad batch takes up, if its header says so."""

    def __init__(self, window: Window, start: int, end: int, crc: int) -> None:
        self._window = window
        self._end = end
        self._wanted_crc = crc
        self._crc = 0
        self._at = start + batches.CRC_START

    def hides(self, position: int) -> bool:
        """Asked for one position after the other. The batch ends at one where its CRC is true."""
        if position >= self._end:
            return False
        while self._at < position:
            piece = self._window.get(self._at, min(CHUNK_BYTES, position - self._at))
            self._crc = crc32c(piece, self._crc)
            self._at += len(piece)
        return self._at > position or self._crc != self._wanted_crc


def _beginning_with(high: bytes) -> re.Pattern[bytes]:
    """Finds the magic byte of what may be a batch; that is looked for first, as it is fast."""
    before = re.escape(high) + b".{%d}" % (MAGIC_AT - len(high))
    return re.compile(b"\\x02(?<=" + before + b"\\x02)", re.DOTALL)
