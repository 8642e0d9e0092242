"""The one thread in which an asyncio client does what blocks: joining, committing, waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from penstock.sdk.errors import PenstockError

T = TypeVar("T")


class Worker:
    """Calls are carried out one after the other. One whose caller is cancelled is not begun any
    more, and goes on if it has begun."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._last: Future[Any] | None = None
        self._has_ended = False

    async def run(self, call: Callable[..., T], *arguments: object) -> T:
        return await asyncio.wrap_future(self.start(call, *arguments))

    def start(self, call: Callable[..., T], *arguments: object) -> Future[T]:
        """Behind the others, whether or not anybody waits for it."""
        if self._has_ended:
            raise PenstockError("it is closed: make another")
        self._last = future = self._pool.submit(call, *arguments)
        return future

    @property
    def is_busy(self) -> bool:
        """With what somebody has left behind who was cancelled."""
        return self._last is not None and not self._last.done()

    def end(self) -> None:
        """What was asked for before is still done."""
        self._has_ended = True
        self._pool.shutdown(wait=False)
