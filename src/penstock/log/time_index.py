"""The largest timestamp seen up to an offset, for finding offsets by time.

An entry (timestamp, offset) says: no record up to that offset, relative to the segment's base, is
newer than the timestamp. The last entry of a finished segment gives its largest timestamp.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left

from penstock.wire.batch import NO_TIMESTAMP

ENTRY_SIZE = 12
_SWAPPED = sys.byteorder == "little"


class TimeIndex:
    __slots__ = ("offsets", "timestamps")

    def __init__(self) -> None:
        self.timestamps: array[int] = array("q")
        self.offsets: array[int] = array("i")

    def __len__(self) -> int:
        return len(self.offsets)

    def add(self, timestamp: int, offset: int) -> None:
        """Only what is newer than all before tells anything."""
        if not self.timestamps or timestamp > self.timestamps[-1]:
            self.timestamps.append(timestamp)
            self.offsets.append(offset)

    def entry_before(self, timestamp: int) -> int:
        """The number of the last entry that is older than a timestamp; -1 if there is none.

        Every record up to its offset is older than the timestamp."""
        return bisect_left(self.timestamps, timestamp) - 1

    def entry_below(self, relative_offset: int) -> int:
        """The number of the last entry that was learned before an offset; -1 if there is none."""
        return bisect_left(self.offsets, relative_offset) - 1

    def truncate(self, relative_offset: int) -> None:
        """Forget what was learned at or past an offset."""
        keep = bisect_left(self.offsets, relative_offset)
        del self.timestamps[keep:]
        del self.offsets[keep:]

    def encode(self) -> bytes:
        """Whole columns at a time: a loop over the entries of a large segment would stall."""
        times, offsets = array("q", self.timestamps), array("i", self.offsets)
        if _SWAPPED:
            times.byteswap()
            offsets.byteswap()
        halves = array("i", times.tobytes())
        words = array("i", bytes(ENTRY_SIZE * len(offsets)))
        words[0::3], words[1::3], words[2::3] = halves[0::2], halves[1::2], offsets
        return words.tobytes()

    @classmethod
    def decode(cls, data: bytes) -> TimeIndex | None:
        """None if the bytes cannot be a time index."""
        if len(data) % ENTRY_SIZE:
            return None
        words = array("i", data)
        halves = array("i", bytes(8 * (len(words) // 3)))
        halves[0::2], halves[1::2] = words[0::3], words[1::3]
        index = cls()
        index.timestamps, index.offsets = array("q", halves.tobytes()), words[2::3]
        if _SWAPPED:
            index.timestamps.byteswap()
            index.offsets.byteswap()
        return index if index._is_sound() else None

    def _is_sound(self) -> bool:
        """Order by the ends only: each entry that is used is held against the batch it is of."""
        times, offsets = self.timestamps, self.offsets
        if len(times) > 1 and not (times[0] < times[-1] and offsets[0] <= offsets[-1]):
            return False
        return not times or (times[0] >= NO_TIMESTAMP and offsets[0] >= 0)
