"""Which held records are due next: ids in arrays of a few thousand, in the order of their times."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice

BLOCK_MAX = 4096


class ByDue:
    """Ids in the order in which they fall due, and of those due together the first one first."""

    __slots__ = ("_blocks", "_count", "_firsts")

    def __init__(self) -> None:
        self._blocks: list[tuple[array[int], array[int]]] = []
        """Dues and ids."""
        self._firsts: list[tuple[int, int]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def _find(self, due_ms: int, number: int) -> tuple[int, int]:
        at = max(bisect_right(self._firsts, (due_ms, number)) - 1, 0)
        dues, ids = self._blocks[at]
        low = bisect_left(dues, due_ms)
        if low < len(dues) and dues[low] == due_ms:
            low = bisect_left(ids, number, low, bisect_right(dues, due_ms, low))
        return at, low

    def add(self, due_ms: int, number: int) -> None:
        """It must not be there."""
        if not self._blocks:
            self._blocks.append((array("q"), array("q")))
            self._firsts.append((due_ms, number))
        at, index = self._find(due_ms, number)
        dues, ids = self._blocks[at]
        dues.insert(index, due_ms)
        ids.insert(index, number)
        self._count += 1
        if len(ids) > BLOCK_MAX:
            self._cut(at)

    def _cut(self, at: int) -> None:
        dues, ids = self._blocks[at]
        half = len(ids) // 2
        other = dues[half:], ids[half:]
        del dues[half:], ids[half:]
        self._blocks.insert(at + 1, other)
        self._firsts.insert(at + 1, (other[0][0], other[1][0]))

    def remove(self, due_ms: int, number: int) -> bool:
        if not self._blocks:
            return False
        at, index = self._find(due_ms, number)
        dues, ids = self._blocks[at]
        if index == len(ids) or ids[index] != number or dues[index] != due_ms:
            return False
        del dues[index], ids[index]
        self._count -= 1
        if not ids:
            del self._blocks[at], self._firsts[at]
        return True

    @property
    def next_ms(self) -> int | None:
        """When the first one is due."""
        return self._blocks[0][0][0] if self._blocks else None

    def due_by(self, time_ms: int, most: int) -> Sequence[int]:
        """The first ids that are due by then."""
        return list(islice(self._due_by(time_ms), most))

    def _due_by(self, time_ms: int) -> Iterator[int]:
        for dues, ids in self._blocks:
            end = bisect_right(dues, time_ms)
            yield from ids[:end] if end < len(ids) else ids
            if end < len(ids):
                return
