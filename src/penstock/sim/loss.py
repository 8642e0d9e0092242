"""How a power loss treats what was not synced.

In order: everything up to some change survives, over all files, and that one may be torn anywhere.
Out of order, as page caches are free to write: in each file any first part of its unsynced bytes
survives, whatever becomes of the other files. Disks write whole sectors: each has what it had at
some moment since the last sync, which past the end that the file had then is zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

SECTOR_BYTES = 512
ALL_KEPT = 0.3
HOLES = 0.8
OLD_SECTORS = 0.4


class Loss:
    def __init__(self, random: Random, pending: Sequence[int] | None) -> None:
        """`pending` are the numbers of all changes that may be lost; None: out of order."""
        self._random = random
        self._first_lost: float | None = None
        if pending is not None:
            self._first_lost = random.choice([*pending, float("inf")])

    def undoes(self, number: int) -> bool:
        if self._first_lost is None:
            return self._random.random() < 0.5
        return number >= self._first_lost

    def kept(self, numbers: Sequence[int]) -> int:
        """How many of a folder's changes survive: always the first ones."""
        if self._first_lost is None:
            return self._random.randint(0, len(numbers))
        return sum(number < self._first_lost for number in numbers)

    def rest(self, data: bytearray, synced: int, unsynced: Sequence[tuple[int, int]]) -> bytearray:
        """What is left of a file, of which changes led to so many bytes each."""
        if self._first_lost is None:
            return self._rest_in_sectors(data, synced, [end for _, end in unsynced])
        end = synced
        for number, reached in unsynced:
            if number >= self._first_lost:
                if number == self._first_lost and reached > end:
                    end = self._random.randint(end, reached)
                break
            end = max(end, reached)
        return data[:end]

    def _rest_in_sectors(self, data: bytearray, synced: int, ends: Sequence[int]) -> bytearray:
        random = self._random
        is_whole = random.random() < ALL_KEPT
        size = len(data) if is_whole else random.randint(synced, len(data))
        kept = data[:size]
        if random.random() < HOLES:
            for start in range(synced - synced % SECTOR_BYTES, size, SECTOR_BYTES):
                if random.random() < OLD_SECTORS:
                    _grow_old(kept, start, max(synced, random.choice([synced, *ends])))
        return kept


def _grow_old(data: bytearray, start: int, file_end: int) -> None:
    """One sector is as it was when the file ended there."""
    first, last = max(start, file_end), min(start + SECTOR_BYTES, len(data))
    if first < last:
        data[first:last] = bytes(last - first)
