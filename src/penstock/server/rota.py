"""Turns on the loop, for when thousands of connections have something at once.

The loop calls for all that are ready before it looks at anything else, and one that has to call ten
thousand times stands still for a second: timers, syncs and everyone who comes later wait. So after
some milliseconds the rest stands in line, and the line gets its share of each round of the loop.
Who comes meanwhile is taken at once, out of another share: the crowd waits for itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from penstock.world.ports import Clock

SHARE_MS = 2
"""Of one round of the loop, for each of those who take turns."""


class Rota:
    """Work that is done a share at a time: in order, or, with two ends, from both in turn. Then
    those who came together wait for each other, and one who comes behind them does not."""

    __slots__ = ("_clock", "_has_two_ends", "_is_awaited", "_is_ends_turn", "_line", "_loop")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, clock: Clock, *, has_two_ends: bool = False
    ) -> None:
        self._loop = loop
        self._clock = clock
        self._has_two_ends = has_two_ends
        self._is_ends_turn = False
        self._line: deque[Callable[[], None]] = deque()
        self._is_awaited = False

    def __len__(self) -> int:
        return len(self._line)

    def add(self, work: Callable[[], None]) -> None:
        """It is done in the next round, if there is not too much before it. It raises nothing."""
        self._line.append(work)
        self._await_round()

    def _await_round(self) -> None:
        if not self._is_awaited:
            self._is_awaited = True
            self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        self._is_awaited = False
        line, clock = self._line, self._clock
        until_ms = clock.monotonic_ms() + SHARE_MS
        while line and clock.monotonic_ms() <= until_ms:
            self._next()()
        if line:
            self._await_round()

    def _next(self) -> Callable[[], None]:
        self._is_ends_turn = self._has_two_ends and not self._is_ends_turn
        return self._line.pop() if self._is_ends_turn else self._line.popleft()


class Round:
    """Tells whether the loop has been calling for connections too long in one go.

    Nothing tells when a round of the loop ends but what was put behind it. To do that in every
    round would cost too much: a new share is begun, and the end of its round awaited, only when the
    last one is over. So a round may take two shares.
    """

    __slots__ = ("_clock", "_ends_ms", "_is_awaited", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock) -> None:
        self._loop = loop
        self._clock = clock
        self._ends_ms = 0.0
        self._is_awaited = False

    def is_over(self) -> bool:
        now_ms = self._clock.monotonic_ms()
        if now_ms <= self._ends_ms:
            return False
        if self._is_awaited:
            return True
        self._is_awaited = True
        self._ends_ms = now_ms + SHARE_MS
        self._loop.call_soon(self._ended)
        return False

    def _ended(self) -> None:
        self._is_awaited = False
