"""What crosses from kazoo's threads to the loop."""

from __future__ import annotations

import asyncio
import time

from penstock.metadata.stores.sqlite_thread import hand_over

__all__ = ["Moved", "hand_over", "now_ms"]


class Moved:
    """Tells a waiter on the loop that something it has looked at is no longer as it was."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def __call__(self, _: object = None) -> None:
        """Called by kazoo's thread: at a change, and when the connection is lost."""
        hand_over(self._loop, self._event.set)

    def clear(self) -> None:
        self._event.clear()

    async def wait(self) -> None:
        await self._event.wait()


def now_ms() -> float:
    return time.monotonic() * 1000
