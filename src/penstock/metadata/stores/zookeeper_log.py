"""The log of commits: where a watch begins, and what follows.

ZooKeeper numbers the log's nodes from 0 without a gap, and `head` has been written as often as
there have been commits: so its version is the number that the next commit will have.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from penstock.metadata.store import Event, Events, Reset, Unavailable
from penstock.metadata.stores.zookeeper_loop import Moved
from penstock.metadata.stores.zookeeper_nodes import (
    READ_TOGETHER,
    Delete,
    Node,
    Paths,
    events_of,
    number_of,
    revision_of,
    there,
)

if TYPE_CHECKING:
    from penstock.metadata.stores.zookeeper_link import Link

KEPT = 1000
TRIM_EVERY = 100

_AGAIN_S = 0.05

T = TypeVar("T")


class Log:
    def __init__(self, link: Link, paths: Paths) -> None:
        self._link = link
        self._paths = paths

    async def follow(
        self, prefix: str, after: int, moved: Moved
    ) -> AsyncGenerator[Events | Reset, None]:
        """Goes on over outages, for as long as the link is not closed."""
        number = await self._over_outages(partial(self._next_after, after))
        while number is not None:
            steps = await self._over_outages(partial(self._read_on, number, moved))
            if steps is None:
                break
            number += len(steps)
            for step in steps:
                wanted = tuple(event for event in step.events if event.key.startswith(prefix))
                if wanted:
                    yield Events(step.revision, wanted)
            if not steps:
                await moved.wait()
        yield Reset()

    async def between(self, first: int, end: int) -> Sequence[Events] | None:
        """The commits of these numbers; None if one is no longer known, or was never told."""
        paths = [self._paths.logged(number) for number in range(first, end)]
        return _told(await self._link.nodes(paths)) if paths else ()

    async def trim(self, last: int) -> None:
        """Drops the oldest first, so that what is left has no gap."""
        names = await self._link.children(self._paths.log)
        old = sorted(number for name in names if (number := number_of(name)) <= last - KEPT)
        for start in range(0, len(old), READ_TOGETHER):
            paths = [self._paths.logged(number) for number in old[start : start + READ_TOGETHER]]
            if await self._link.write([Delete(path) for path in paths]) is None:
                return  # another is at it

    async def _over_outages(self, read: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await read()
            except Unavailable:
                if self._link.closed:
                    raise
            await asyncio.sleep(_AGAIN_S)

    async def _read_on(self, number: int, moved: Moved) -> Sequence[Events] | None:
        moved.clear()
        paths = [self._paths.logged(number + ahead) for ahead in range(READ_TOGETHER)]
        head, first, *rest = await self._link.nodes(
            [self._paths.head, paths[0]], fresh=False, moved=moved
        )
        behind = there(head).version - number
        if first is None:
            return None if behind > 0 else ()
        if behind > 1:
            rest = await self._link.nodes(paths[1:behind], fresh=False)
        return _told([first, *rest])

    async def _next_after(self, revision: int) -> int | None:
        """The number of the first commit after a revision; None if that can no longer be told."""
        head = there((await self._link.nodes([self._paths.head]))[0])
        if revision == revision_of(head):
            return head.version
        if revision > revision_of(head):
            return None  # not of this store: it has been made anew, or put back to an older state
        names = await self._link.children(self._paths.log)
        low = first = min((number_of(name) for name in names), default=head.version)
        high = head.version
        known = first == 0
        while low < high:
            middle = (low + high) // 2
            (node,) = await self._link.nodes([self._paths.logged(middle)])
            if node is not None and node.created > revision:
                high = middle
            else:
                low, known = middle + 1, node is not None
        return low if known else None


def _told(nodes: Sequence[Node | None]) -> Sequence[Events] | None:
    steps = [events_of(node) if node else None for node in nodes]
    told = [step for step in steps if step is not None]
    return told if len(told) == len(steps) else None


def changes_of(steps: Sequence[Events]) -> dict[str, Event]:
    """Of each key that was changed, the last."""
    return {event.key: event for step in steps for event in step.events}
