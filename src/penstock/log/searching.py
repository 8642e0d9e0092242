"""Looking for batches that can be believed in a segment that is damaged, in small steps.

It may be large, most of it cold, and its records may be made to look like batches of any size. So
no step reads more than a megabyte, none waits for the disk where others would have to, and how much
is looked through in vain is bounded.
"""

from __future__ import annotations

import re
from functools import partial

from crc32c import crc32c

from penstock.log.drafting import Taken
from penstock.log.layout import RELATIVE_OFFSET_MAX
from penstock.log.steps import Pauses, Steps, warmed
from penstock.wire.batch import (
    CRC_START,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    MAGIC,
    BatchHeader,
    read_header,
)
from penstock.world.ports import File

PIECE_BYTES = 1 << 20
SEARCH_BYTES = 1 << 18
SEARCH_PASSES = 8
"""How often a file may be gone through, in all, to see whether what looks like a batch is one."""
DOUBTFUL_PASSES = 1
"""The same for what no other batch follows: it seldom is one, and anything can look like it."""
MAGIC_AT = 16


class Search:
    """Through one file, as it was when the search began."""

    def __init__(
        self, file: File, base: int, end_offset: int | None = None, *, may_wait: bool = False
    ) -> None:
        """`end_offset`: where the next segment begins, which no batch of this one reaches."""
        self._file = file
        self._may_wait = may_wait
        room = base + RELATIVE_OFFSET_MAX + 1
        self.end_offset = room if end_offset is None else min(end_offset, room)
        self.size = file.size
        self._searchable = SEARCH_PASSES * file.size
        self._doubtful = min(DOUBTFUL_PASSES, SEARCH_PASSES) * file.size
        self._pauses = Pauses()
        self.unseen_end = 0
        """After all that looked like a batch in the last search and could not be looked at."""

    def next_good(self, bad: int, least_offset: int) -> Steps[tuple[int, int] | None]:
        """Position and base offset of the next batch that can be believed after bytes that cannot.

        Records may hold batches. So what lies within a bad batch is none of the log's: that is
        passed over where it is known how far it reaches, and else looked through.
        """
        self.unseen_end = 0
        while (end := (yield from self._sure_end(bad, least_offset))) is not None:
            least_offset += 1  # the bad one had a record at least
            header = yield from self._head(end)
            if header is None:
                return None
            if (yield from self._is_good(end, header, least_offset)):
                return end, header.base_offset
            bad = end
        return (yield from self._looked_for(bad, least_offset))

    def _looked_for(self, bad: int, least_offset: int) -> Steps[tuple[int, int] | None]:
        """The next good one after a bad one that ends nobody knows where. What lies within it by
        its own account is none, unless the account was wrong of nothing but its length."""
        inside = yield from self._inside(bad, least_offset)
        least_offset += 1
        looks_like_one = _beginning_with(least_offset, self.end_offset)
        position = bad + 1
        while position + HEADER_SIZE <= self.size:
            piece = yield from self._read(position, SEARCH_BYTES)
            for match in looks_like_one.finditer(piece):
                at = match.start() - MAGIC_AT
                if at + HEADER_SIZE > len(piece) or (yield from inside.hides(position + at)):
                    continue
                header = read_header(piece, at)
                if (yield from self._is_good(position + at, header, least_offset)):
                    return position + at, header.base_offset
                if inside.ends_at(position + at):  # and another bad one begins
                    inside = yield from self._inside(position + at, least_offset)
                if self._pauses.is_due():
                    yield None
            if len(piece) < HEADER_SIZE:  # it is shorter than it was
                return None
            position += len(piece) - HEADER_SIZE + 1
            yield None
        return None

    def bears_out(self, taken: Taken) -> Steps[bool]:
        """Whether a batch that was taken for one by its header can be believed in all else."""
        position, header, least_offset, may_skip = taken
        if not (self._is_here(header, least_offset) and (yield from self.is_whole(*taken[:2]))):
            return False
        if header.base_offset == least_offset:
            return True
        following = yield from self._head(position + header.size)
        return may_skip and not is_taken_back(header, following, least_offset)

    def _sure_end(self, bad: int, least_offset: int) -> Steps[int | None]:
        """Where a bad batch ends, if there is no doubt of it: where its CRC is true, be it for a
        length that differs by a bit, or where another batch may begin; or else, by its own account,
        with the file, or before a good one."""
        header = yield from self._head(bad)
        if header is None:
            return None
        for size in [header.size, *_other_sizes(header)]:
            if (yield from self._ends_after(bad, size, header, least_offset + 1)):
                return bad + size
        end = bad + header.size
        if header.size < HEADER_SIZE or end > self.size:
            return None
        earlier = yield from self._earlier_end(bad, header, least_offset + 1)
        if earlier is not None:
            return earlier
        following = yield from self._head(end)
        if following is None:
            return end if end == self.size else None
        is_good = yield from self._is_good(end, following, least_offset + 1)
        return end if is_good else None

    def _ends_after(
        self, bad: int, size: int, header: BatchHeader, least_offset: int
    ) -> Steps[bool]:
        """Whether its CRC says so; other batches follow it, or nothing does."""
        end = bad + size
        if not HEADER_SIZE <= size <= min(self.size - bad, self._searchable):
            return False
        if size != header.size:
            following = yield from self._head(end)
            if following is None and end < self.size:
                return False
            if following is not None and not self._could_be(following, least_offset):
                return False
        self._searchable -= size
        crc = yield from self.crc_of(bad + CRC_START, end)
        return crc == header.crc

    def _earlier_end(self, bad: int, header: BatchHeader, least_offset: int) -> Steps[int | None]:
        """Where the CRC is true of what comes before, and a batch may begin, if there is such."""
        position, end = bad + 1, bad + header.size
        inside = _Inside(self, bad, end, header.crc)
        looks_like_one = _beginning_with(least_offset, self.end_offset)
        while position + HEADER_SIZE <= end:
            piece = yield from self._read(position, min(SEARCH_BYTES, end - position))
            for match in looks_like_one.finditer(piece):
                at = position + match.start() - MAGIC_AT
                if not (yield from inside.hides(at)):
                    return at
            if len(piece) < HEADER_SIZE:
                return None
            position += len(piece) - HEADER_SIZE + 1
        return None

    def _could_be(self, header: BatchHeader, least_offset: int) -> bool:
        is_batch = header.magic == MAGIC and header.size >= HEADER_SIZE
        return is_batch and self._is_here(header, least_offset)

    def _inside(self, bad: int, least_offset: int) -> Steps[_Inside]:
        header = yield from self._head(bad)
        if header is not None and header.magic == MAGIC and header.size >= HEADER_SIZE:
            is_here = self._is_here(header, least_offset)
            if is_here or (yield from self.is_whole(bad, header)):
                return _Inside(self, bad, bad + header.size, header.crc)
        return _Inside(self, bad, bad, 0)

    def _is_here(self, header: BatchHeader, least_offset: int) -> bool:
        """Whether it could be a batch of this segment, by its offsets."""
        return least_offset <= header.base_offset <= header.last_offset < self.end_offset

    def _is_good(self, position: int, header: BatchHeader, least_offset: int) -> Steps[bool]:
        """Records may be made to look like many large batches, each of which takes its time."""
        if not HEADER_SIZE <= header.size <= self.size - position:
            return False
        if not self._is_here(header, least_offset):
            return False
        following = yield from self._head(position + header.size)
        if header.base_offset > least_offset and is_taken_back(header, following, least_offset):
            return False
        is_followed = following is None or self._could_be(following, header.next_offset)
        if header.size > (self._searchable if is_followed else self._doubtful):
            self.unseen_end = max(self.unseen_end, header.next_offset)
            return False
        if is_followed:
            self._searchable -= header.size
        else:
            self._doubtful -= header.size
        return (yield from self.is_whole(position, header))

    def is_whole(self, position: int, header: BatchHeader) -> Steps[bool]:
        """Whether all its bytes are there, and its CRC is true of them."""
        end = position + header.size
        if header.magic != MAGIC or header.size < HEADER_SIZE or end > self.size:
            return False
        crc = yield from self.crc_of(position + CRC_START, end)
        return crc == header.crc

    def crc_of(self, position: int, end: int, crc: int = 0) -> Steps[int | None]:
        """Goes on from that of the bytes before. None if the file is shorter than it was."""
        while position < end:
            piece = yield from self._read(position, min(PIECE_BYTES, end - position))
            if not piece:
                return None
            crc = crc32c(piece, crc)
            position += len(piece)
            if self._pauses.is_due(len(piece)):
                yield None
        return crc

    def _head(self, position: int) -> Steps[BatchHeader | None]:
        """What would be the header of a batch there; None at the end."""
        data = yield from self._read(position, HEADER_SIZE)
        return read_header(data) if len(data) == HEADER_SIZE else None

    def _read(self, position: int, length: int) -> Steps[bytes]:
        """Shorter at the end of the file."""
        length = min(length, self.size - position)
        if length <= 0:
            return b""
        return (yield from warmed(partial(self._read_now, position, length)))

    def _read_now(self, position: int, length: int, cold_ok: bool) -> bytes:
        if cold_ok or self._may_wait:
            return self._file.read(position, length)
        return self._file.read_cached(position, length)


class _Inside:
    """What a bad batch takes up, if its header says so."""

    def __init__(self, search: Search, start: int, end: int, crc: int) -> None:
        self._search = search
        self._end = end
        self._wanted_crc = crc
        self._crc: int | None = 0
        self._at = start + CRC_START

    def hides(self, position: int) -> Steps[bool]:
        """Asked for one position after the other. The batch ends at one where its CRC is true."""
        if position >= self._end:
            return False
        if self._at < position and self._crc is not None:
            self._crc = yield from self._search.crc_of(self._at, position, self._crc)
            self._at = position
        if self._at > position or self._crc != self._wanted_crc:
            return True
        self._end = position
        return False

    def ends_at(self, position: int) -> bool:
        return position == self._end


def is_taken_back(header: BatchHeader, following: BatchHeader | None, least_offset: int) -> bool:
    """Compaction leaves gaps; but no CRC covers the offset, so a gap that the next batch takes back
    is a fault of this batch; unless it has too many records to lie before that in any case."""
    least_last = least_offset + header.last_offset_delta
    return following is not None and least_last < following.base_offset <= header.last_offset


def _other_sizes(header: BatchHeader) -> list[int]:
    """Of a batch if one bit of its length is wrong."""
    lengths = (header.length ^ 1 << bit for bit in range(31))
    return [length + LENGTH_OVERHEAD for length in (header.length + (1 << 31), *lengths)]


def _beginning_with(least_offset: int, end_offset: int) -> re.Pattern[bytes]:
    """Finds the magic byte of what may be a batch; that is looked for first, as it is fast. Of
    offsets within a segment the upper half has one value, or two."""
    highs = {offset.to_bytes(8, "big")[:4] for offset in (least_offset, end_offset - 1)}
    before = b"(?:" + b"|".join(map(re.escape, sorted(highs))) + b").{%d}" % (MAGIC_AT - 4)
    return re.compile(b"\\x02(?<=" + before + b"\\x02)", re.DOTALL)
