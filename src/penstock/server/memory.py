"""Memory for requests in flight: where it comes from, and how much there is of it."""

from __future__ import annotations

from collections.abc import Callable
from mmap import mmap

POOLED_MAX = 4 << 20
"""Larger memory is rare, and goes back to the system at once."""
POOLED = 4
GRANULE = 64 << 10


class Buffers:
    """Memory for large requests, used again: a fresh megabyte costs as much as copying one."""

    def __init__(self) -> None:
        self._free: list[bytearray] = []

    def take(self, size: int) -> memoryview:
        """The largest that is free, if it will do. What is in it is left from before."""
        if size > POOLED_MAX:
            return memoryview(mmap(-1, size))  # not filled with zeros, as a bytearray would be
        if not self._free or len(self._free[-1]) < size:
            self._free.append(bytearray(-size % GRANULE + size))
        return memoryview(self._free.pop())[:size]

    def give_back(self, memory: memoryview) -> None:
        """Only by who knows that nobody looks at it any more."""
        buffer = memory.obj
        if isinstance(buffer, bytearray) and len(self._free) < POOLED:
            self._free.append(buffer)
            self._free.sort(key=len)


class Budget:
    """What all connections may hold together: half of it for ordinary requests, half for large
    ones. A request counts with the length that it has announced, so that few clients could keep all
    others waiting that announce much and send little, if there were no such division."""

    __slots__ = ("_large", "_ordinary")

    def __init__(self, limit: int) -> None:
        self._ordinary, self._large = Share(limit // 2), Share(limit // 2)

    @property
    def used(self) -> int:
        return self._large.used + self._ordinary.used

    @property
    def is_short(self) -> bool:
        """Whether anyone waits for a share."""
        return self._ordinary.is_short or self._large.is_short

    def take(self, size: int, resume: Callable[[], None]) -> bool:
        """False: there is not enough; `resume` is called when it is worth another try."""
        return self._share(size).take(size, resume)

    def give_back(self, size: int) -> None:
        self._share(size).give_back(size)

    def forget(self, resume: Callable[[], None]) -> None:
        self._ordinary.forget(resume)
        self._large.forget(resume)

    def _share(self, size: int) -> Share:
        return self._ordinary if size <= POOLED_MAX else self._large


class Share:
    """Who finds none left waits for its turn."""

    __slots__ = ("_left", "_waiting", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._left = limit
        self._waiting: dict[Callable[[], None], int] = {}

    @property
    def used(self) -> int:
        return self.limit - self._left

    @property
    def is_short(self) -> bool:
        return bool(self._waiting)

    def take(self, size: int, resume: Callable[[], None]) -> bool:
        """False: there is not enough; `resume` is called when it is worth another try.

        One request larger than all of it is let through when nothing else is in flight, or it
        could never be read.
        """
        if self.limit < 0:
            return True
        if size <= self._left or self._left == self.limit:
            self._left -= size
            self._waiting.pop(resume, None)
            return True
        self._waiting[resume] = size
        return False

    def give_back(self, size: int) -> None:
        if self.limit < 0 or not size:
            return
        self._left += size
        expected = self._left
        for resume, wanted in list(self._waiting.items()):
            if wanted > expected and self._left != self.limit:
                break
            expected -= wanted
            del self._waiting[resume]
            resume()

    def forget(self, resume: Callable[[], None]) -> None:
        self._waiting.pop(resume, None)
