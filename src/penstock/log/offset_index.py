"""Where in a segment a batch begins, for about one batch in every `index.interval.bytes`.

An entry is the batch's *last* offset, relative to the segment's base, and its position, as in
Kafka. So every position here is a batch boundary, which is what a read is cut at.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right

ENTRY_SIZE = 8
_SWAPPED = sys.byteorder == "little"


class OffsetIndex:
    __slots__ = ("lasts", "positions")

    def __init__(self) -> None:
        self.lasts: array[int] = array("i")
        self.positions: array[int] = array("i")

    def __len__(self) -> int:
        return len(self.lasts)

    def add(self, last: int, position: int) -> None:
        self.lasts.append(last)
        self.positions.append(position)

    def entry_before(self, relative_offset: int) -> int:
        """The number of the last entry that is not past an offset; -1 if there is none."""
        return bisect_right(self.lasts, relative_offset) - 1

    def entry_at_most(self, position: int) -> int:
        """The number of the last entry at or before a position; -1 if there is none."""
        return bisect_right(self.positions, position) - 1

    def position_before(self, relative_offset: int) -> int:
        """A boundary at or before the batch that holds an offset: where to scan for it."""
        found = self.entry_before(relative_offset)
        return self.positions[found] if found >= 0 else 0

    def truncate(self, size: int) -> None:
        """Forget batches that begin at or past a position."""
        keep = bisect_left(self.positions, size)
        del self.lasts[keep:]
        del self.positions[keep:]

    def encode(self) -> bytes:
        both = array("i", bytes(ENTRY_SIZE * len(self.lasts)))
        both[0::2] = self.lasts
        both[1::2] = self.positions
        if _SWAPPED:
            both.byteswap()
        return both.tobytes()

    @classmethod
    def decode(cls, data: bytes, segment_size: int) -> OffsetIndex | None:
        """None if the bytes cannot be the index of a segment of this size."""
        if len(data) % ENTRY_SIZE:
            return None
        both = array("i", data)
        if _SWAPPED:
            both.byteswap()
        index = cls()
        index.lasts, index.positions = both[0::2], both[1::2]
        return index if index._is_sound(segment_size) else None

    def _is_sound(self, segment_size: int) -> bool:
        """Order by the ends only: each entry that is used is held against the batch it leads to."""
        if not self.lasts:
            return True
        lasts, positions = self.lasts, self.positions
        return 0 <= lasts[0] <= lasts[-1] and 0 < positions[0] <= positions[-1] < segment_size
