"""What has to wait for something: a broker that does not answer, say. By what it waits for.

Thousands may wait for the same. One of them is tried now and then, ever more seldom; once that
succeeds, the others may go on, too. So what waits costs next to nothing, however much it is.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

C = TypeVar("C", bound=Hashable)
T = TypeVar("T")

RETRY_MS = 50
RETRY_MS_MAX = 1000


class Queue(Generic[T]):
    """Those who wait for one thing."""

    __slots__ = ("items", "pause_ms", "timer")

    def __init__(self) -> None:
        self.items: deque[T] = deque()
        self.pause_ms = RETRY_MS
        self.timer: asyncio.TimerHandle | None = None
        """None while one of them is tried."""


class HeldUp(Generic[C, T]):
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        attempt: Callable[[C, T], None],
        release: Callable[[T], None],
    ) -> None:
        """Of an attempt it is told later what came of it: `failed` or `over`."""
        self._loop = loop
        self._attempt = attempt
        self._release = release
        self._queues: dict[C, Queue[T]] = {}

    def __contains__(self, cause: C) -> bool:
        return cause in self._queues

    def __len__(self) -> int:
        return sum(len(queue.items) for queue in self._queues.values())

    def add(self, cause: C, item: T) -> None:
        queue = self._queues.get(cause)
        if queue is None:
            queue = self._queues[cause] = Queue()
            self._wait(cause, queue)
        queue.items.append(item)

    def failed(self, cause: C, item: T) -> None:
        """It is no better yet."""
        queue = self._queues.get(cause)
        if queue is None or queue.timer is not None:
            self.add(cause, item)
            return
        queue.items.appendleft(item)
        queue.pause_ms = min(2 * queue.pause_ms, RETRY_MS_MAX)
        self._wait(cause, queue)

    def over(self, cause: C) -> None:
        """All who wait for it may go on."""
        queue = self._queues.pop(cause, None)
        if queue is None:
            return
        if queue.timer is not None:
            queue.timer.cancel()
        for item in queue.items:
            self._release(item)

    def _wait(self, cause: C, queue: Queue[T]) -> None:
        queue.timer = self._loop.call_later(queue.pause_ms / 1000, self._try_one, cause, queue)

    def _try_one(self, cause: C, queue: Queue[T]) -> None:
        queue.timer = None
        self._attempt(cause, queue.items.popleft())

    def stop(self) -> None:
        for queue in self._queues.values():
            if queue.timer is not None:
                queue.timer.cancel()
        self._queues.clear()
