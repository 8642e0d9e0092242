"""When waits end that nothing else ends.

Waits that last equally long end in the order in which they began, so one timer serves all of them.
Clients ask for few different times, and a timer of the loop's for each wait would cost more than
the wait itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from itertools import takewhile
from typing import Protocol


class Expiring(Hashable, Protocol):
    def expire(self) -> None: ...


class Deadlines:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queues: dict[int, dict[Expiring, float]] = {}

    def begin(self, wait: Expiring, wait_ms: int) -> None:
        """`wait.expire()` is called after that time, unless it is ended before."""
        queue = self._queues.get(wait_ms)
        if queue is None:
            queue = self._queues[wait_ms] = {}
            self._loop.call_later(wait_ms / 1000, self._look, wait_ms)
        queue[wait] = self._loop.time() + wait_ms / 1000

    def end(self, wait: Expiring, wait_ms: int) -> None:
        queue = self._queues.get(wait_ms)
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
