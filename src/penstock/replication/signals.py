"""Who is waiting for a partition to move. Waiting costs nothing until it does."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol

Waiter = Callable[[], None]

WOKEN_AT_ONCE = 300
"""Thousands may wait for the same record, and each answers a request: some milliseconds."""


class Source(Protocol):
    """Something that a waiter can be woken by, once."""

    def watch(self, waiter: Waiter) -> None: ...

    def unwatch(self, waiter: Waiter) -> None: ...


class Signal:
    """Wakes all who watch, whenever it is fired."""

    __slots__ = ("_waiters", "_woken")

    def __init__(self) -> None:
        self._waiters: dict[Waiter, None] = {}
        self._woken: dict[Waiter, None] = {}
        """Those whose turn is still to come."""

    def __len__(self) -> int:
        return len(self._waiters) + len(self._woken)

    def watch(self, waiter: Waiter) -> None:
        self._waiters[waiter] = None

    def unwatch(self, waiter: Waiter) -> None:
        self._waiters.pop(waiter, None)
        self._woken.pop(waiter, None)

    def fire(self) -> None:
        if (self._waiters or self._woken) and self.fire_some():
            while self.wake_more():
                pass

    def fire_some(self) -> bool:
        """The same for as many as are woken at once; True if there are more."""
        if self._waiters:
            woken, self._waiters = self._waiters, {}
            if self._woken or len(woken) > WOKEN_AT_ONCE:
                self._woken.update(woken)
                return self.wake_more()
            for waiter in woken:
                waiter()
        return bool(self._woken)

    def wake_more(self) -> bool:
        """Of those who watched when it was fired; True if there are still more."""
        woken = self._woken
        for _ in range(min(len(woken), WOKEN_AT_ONCE)):
            if woken:  # who is woken may make others go
                woken.popitem()[0]()
        return bool(woken)


class Line:
    """Waiters for offsets, mostly ever higher ones; the lowest stands first."""

    __slots__ = ("_count", "_waiters")

    def __init__(self) -> None:
        self._waiters: list[tuple[int, int, Waiter]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._waiters)

    def watch(self, offset: int, waiter: Waiter) -> None:
        self._count += 1
        heappush(self._waiters, (offset, self._count, waiter))

    def reach(self, offset: int) -> bool:
        """Wake those whose offset has been reached, as many as are woken at once; True if there
        are more."""
        waiters = self._waiters
        left = WOKEN_AT_ONCE
        while waiters and waiters[0][0] <= offset:
            if not left:
                return True
            left -= 1
            heappop(waiters)[2]()
        return False

    def drop(self) -> None:
        """Wake everyone: what they wait for will not come here."""
        woken, self._waiters = self._waiters, []
        for _, _, waiter in woken:
            waiter()


class Reached:
    """An offset on a line, as a source. Reached once is reached for good: it is watched once."""

    __slots__ = ("_in_line", "_line", "offset")

    def __init__(self, line: Line, offset: int) -> None:
        self._line = line
        self._in_line = False
        self.offset = offset

    def watch(self, waiter: Waiter) -> None:
        if not self._in_line:
            self._in_line = True
            self._line.watch(self.offset, waiter)

    def unwatch(self, waiter: Waiter) -> None:
        """Left in line: it is popped with its offset, and who is done ignores the call."""
