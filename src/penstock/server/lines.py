"""What is to be asked of other brokers, one line for each: what comes while a question is under way
goes into the next one, together."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

log = logging.getLogger(__name__)

ELEMENT_WEIGHT = 100
"""Beside the bytes of names. Of an element of a list in a request: what is in it, and the time that
it takes to decode."""
WEIGHT_AT_ONCE = 450_000
"""At most 4,500 elements, or 450,000 bytes: less than a broker decodes off its loop, and half of
what it takes at all (`api/dispatch.py`)."""


class Weighed(Protocol):
    @property
    def weight(self) -> int: ...


T = TypeVar("T", bound=Weighed)


class Lines(Generic[T]):
    def __init__(self, ask: Callable[[int, list[T]], Awaitable[None]]) -> None:
        """`ask` deals with some of them, whatever comes of it."""
        self._ask = ask
        self._waiting: dict[int, deque[T]] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def add(self, node_id: int, item: T) -> None:
        self._waiting.setdefault(node_id, deque()).append(item)
        if node_id not in self._tasks:
            self._tasks[node_id] = asyncio.create_task(self._run(node_id))

    async def _run(self, node_id: int) -> None:
        try:
            while waiting := self._waiting.get(node_id):
                try:
                    await self._ask(node_id, _some(waiting))
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


def _some(waiting: deque[T]) -> list[T]:
    """As many as go together, and one at least."""
    some = [waiting.popleft()]
    weight = some[0].weight
    while waiting and weight + waiting[0].weight <= WEIGHT_AT_ONCE:
        weight += waiting[0].weight
        some.append(waiting.popleft())
    return some


class Portion(list[tuple[str, int]]):
    """Partitions of topics that go into one question, and what they weigh there."""

    weight = ELEMENT_WEIGHT


def portions(places: Iterable[tuple[str, int]]) -> Iterator[Portion]:
    """Each small enough for a question. Those of one topic should stand together."""
    portion, last = Portion(), ""
    for topic, index in places:
        weight = ELEMENT_WEIGHT
        if topic != last or not portion:
            weight += ELEMENT_WEIGHT + len(topic.encode())
        if portion.weight + weight > WEIGHT_AT_ONCE:
            yield portion
            portion = Portion()
        portion.append((topic, index))
        portion.weight += weight
        last = topic
    if portion:
        yield portion
