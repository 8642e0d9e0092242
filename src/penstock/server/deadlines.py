"""When waits end that nothing else ends.

Waits that last equally long end in the order in which they began, so one timer serves all of them.
Clients ask for few different times, and a timer of the loop's for each wait would cost more than
the wait itself. Whatever they ask for, there are some hundred timers at most: times are rounded up
to two digits, and none is longer than an hour.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from functools import lru_cache
from itertools import takewhile
from typing import Protocol

WAIT_MS_MAX = 3_600_000
"""A client that is answered earlier than it asked for asks again."""


class Expiring(Hashable, Protocol):
    def expire(self) -> None: ...


class Deadlines:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queues: dict[int, dict[Expiring, float]] = {}

    def begin(self, wait: Expiring, wait_ms: int) -> None:
        """`wait.expire()` is called after about that time, unless it is ended before."""
        queue = self._queues.get(wait_ms)
        if queue is None:
            wait_ms = rounded(wait_ms)
            queue = self._queues.get(wait_ms)
        if queue is None:
            queue = self._queues[wait_ms] = {}
            self._loop.call_later(wait_ms / 1000, self._look, wait_ms)
        queue[wait] = self._loop.time() + wait_ms / 1000

    def end(self, wait: Expiring, wait_ms: int) -> None:
        """The queue stays until its time is over: the next wait is mostly as long as this one."""
        queue = self._queues.get(wait_ms)
        if queue is None:
            queue = self._queues.get(rounded(wait_ms))
        if queue is not None:
            queue.pop(wait, None)

    def _look(self, wait_ms: int) -> None:
        """Expire what is due; look again when the next one is."""
        queue = self._queues[wait_ms]
        now = self._loop.time()
        due = [wait for wait, _ in takewhile(lambda each: each[1] <= now, queue.items())]
        for wait in due:
            if queue.pop(wait, None) is not None:  # or the one before it has ended it
                wait.expire()
        if queue:
            self._loop.call_at(next(iter(queue.values())), self._look, wait_ms)
        else:
            del self._queues[wait_ms]


@lru_cache(maxsize=256)
def rounded(wait_ms: int) -> int:
    """Not less than was asked for, unless that is more than the longest. The usual times, such as
    500 and 30,000, are round already, which is why `begin` and `end` first look for those."""
    wait_ms = min(max(wait_ms, 0), WAIT_MS_MAX)
    unit: int = 10 ** max(len(str(wait_ms)) - 2, 0)
    return -(-wait_ms // unit) * unit
