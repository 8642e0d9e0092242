"""The end of keys whose session has ended: whoever notices deletes them, by a commit like any."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from penstock.errors import Unusable
from penstock.metadata.store import Check, Conflict, Put, Unavailable, Unknown
from penstock.metadata.stores.zookeeper_loop import Moved
from penstock.metadata.stores.zookeeper_nodes import READ_TOGETHER, Paths, binding_of, session_of

if TYPE_CHECKING:
    from penstock.metadata.stores.zookeeper_link import Link

Commit = Callable[[Sequence[Check], Sequence[Put], Sequence[str]], Awaitable[int]]
_AGAIN_S = 0.5


class Burial:
    def __init__(self, link: Link, paths: Paths, commit: Commit) -> None:
        self._link = link
        self._paths = paths
        self._commit = commit

    async def keep_watch(self) -> None:
        """For as long as the store is open."""
        moved = Moved()
        while True:
            moved.clear()
            try:
                await self.bury(moved)
            except (Unavailable, Unknown, Unusable):
                await asyncio.sleep(_AGAIN_S)
            else:
                await moved.wait()

    async def bury(self, moved: Moved | None = None) -> None:
        while not await self._bury_all(moved):
            pass

    async def _bury_all(self, moved: Moved | None) -> bool:
        """Who lives is read last: a session found in a binding and not there has ended."""
        bound = [binding_of(name) for name in await self._link.children(self._paths.bound)]
        living = set(await self._link.children(self._paths.sessions, moved=moved))
        dead = sorted(each for each in bound if each[0] not in living)
        for start in range(0, len(dead), READ_TOGETHER):
            if not await self._bury_these(dead[start : start + READ_TOGETHER]):
                return False
        return True

    async def _bury_these(self, dead: Sequence[tuple[str, str]]) -> bool:
        """False if one of them has been written, or buried, by another just now."""
        nodes = await self._link.nodes([self._paths.key(key) for _, key in dead])
        found = {
            key: node.revision
            for (session, key), node in zip(dead, nodes, strict=True)
            if node and session_of(node) == session
        }
        try:
            if found:
                await self._commit(list(found.items()), [], list(found))
        except Conflict:
            return False
        return True
