"""What is to be asked of other brokers, one line for each: what comes while a question is under way
goes into the next one, together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")

ITEMS_AT_ONCE = 500


class Lines(Generic[T]):
    def __init__(self, ask: Callable[[int, list[T]], Awaitable[None]]) -> None:
        """`ask` deals with some of them, whatever comes of it."""
        self._ask = ask
        self._waiting: dict[int, list[T]] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def add(self, node_id: int, item: T) -> None:
        self._waiting.setdefault(node_id, []).append(item)
        if node_id not in self._tasks:
            self._tasks[node_id] = asyncio.create_task(self._run(node_id))

    async def _run(self, node_id: int) -> None:
        try:
            while waiting := self._waiting.get(node_id):
                some, self._waiting[node_id] = waiting[:ITEMS_AT_ONCE], waiting[ITEMS_AT_ONCE:]
                try:
                    await self._ask(node_id, some)
                except Exception:  # a bug; those that wait behind must not be lost with it
                    log.exception("broker %d could not be asked", node_id)
        finally:
            self._tasks.pop(node_id, None)
            self._waiting.pop(node_id, None)

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
