"""The store in ZooKeeper, for clusters that have an ensemble of it; 3.6 and later.

`zookeeper_nodes` says what the tree looks like, `zookeeper_commit` how a commit is made safe,
`zookeeper_log` how a watch misses nothing, `zookeeper_session` how a lease is kept, and
`zookeeper_burial` how its keys go. Only `zookeeper_client` and `zookeeper_link` import kazoo.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from penstock.errors import Unusable
from penstock.metadata.store import Check, Entry, Events, Put, Reset, Unavailable, Unknown
from penstock.metadata.stores import zookeeper_address
from penstock.metadata.stores.zookeeper_address import Address, Credentials, parse_url
from penstock.metadata.stores.zookeeper_burial import Burial
from penstock.metadata.stores.zookeeper_commit import Change, Found, change_of, plan
from penstock.metadata.stores.zookeeper_log import TRIM_EVERY, Log, changes_of
from penstock.metadata.stores.zookeeper_loop import Moved, now_ms
from penstock.metadata.stores.zookeeper_nodes import (
    Create,
    Node,
    Paths,
    entry_of,
    key_of,
    revision_of,
    there,
)
from penstock.metadata.stores.zookeeper_session import Beat, ZookeeperSession
from penstock.metadata.stores.zookeeper_tree import prepare
from penstock.world.ports import Chance

if TYPE_CHECKING:
    from penstock.metadata.stores.zookeeper_link import Link

TIMEOUT_MS = 5000
TTL_MIN_MS = 1000
"""Below this kazoo gives servers too little time to answer; ZooKeeper's own floor is two ticks."""


class ZookeeperStore:
    def __init__(
        self, address: Address, credentials: Credentials, chance: Chance, timeout_ms: int
    ) -> None:
        self._address = address
        self._credentials = credentials
        self._tls = zookeeper_address.check(credentials)
        self._chance = chance
        self._timeout_ms = timeout_ms
        self._paths = Paths(address.chroot)
        self._link = self._new_link(2 * timeout_ms, lambda: True)
        self._log = Log(self._link, self._paths)
        self._burial = Burial(self._link, self._paths, self.commit)
        self._watchers: set[Moved] = set()
        self._sessions: set[ZookeeperSession] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        chance: Chance,
        timeout_ms: int = TIMEOUT_MS,
        user: str = "",
        password: str = "",
        ca_file: str = "",
        certificate_file: str = "",
        key_file: str = "",
    ) -> ZookeeperStore:
        """Creates the nodes if there are none. Raises Unusable with what to do."""
        address = parse_url(url)
        credentials = Credentials(user, password, ca_file, certificate_file, key_file)
        store = cls(address, credentials, chance, timeout_ms)
        await store._begin(url)
        return store

    def _new_link(self, ttl_ms: float, alive: Callable[[], bool]) -> Link:
        try:
            kind: type[Link] = import_module("penstock.metadata.stores.zookeeper_link").Link
        except ModuleNotFoundError as missing:
            raise Unusable(
                "a store in ZooKeeper needs a library: pip install penstock[zookeeper]"
            ) from missing
        return kind(
            self._address,
            self._credentials,
            self._tls,
            self._chance,
            ttl_ms=ttl_ms,
            timeout_ms=self._timeout_ms,
            alive=alive,
        )

    async def _begin(self, url: str) -> None:
        try:
            await self._link.connect(self._timeout_ms)
            await prepare(self._link, self._paths)
        except (Unavailable, Unknown) as problem:
            await self.close()
            raise Unusable(
                f"no ZooKeeper server of {url} can be reached within {self._timeout_ms} ms "
                f"({problem}); check the address, and that a majority of the servers runs, of "
                "version 3.6 or later"
            ) from problem
        except BaseException:
            await self.close()
            raise
        self._spawn(self._burial.keep_watch())

    # Reading

    async def get(self, key: str) -> Entry | None:
        (node,) = await self._link.nodes([self._paths.key(key)])
        return entry_of(key, node) if node else None

    async def list(self, prefix: str) -> tuple[Sequence[Entry], int]:
        deadline_ms = now_ms() + self._timeout_ms
        while (found := await self._list(prefix)) is None:
            if now_ms() > deadline_ms:
                raise Unavailable("too much is written to ZooKeeper to list it")
        return found

    async def _list(self, prefix: str) -> tuple[Sequence[Entry], int] | None:
        """Nodes are read at different moments; the log makes up for what was written meanwhile."""
        before = await self._head()
        names = await self._link.children(self._paths.keys)
        keys = [key for key in map(key_of, names) if key.startswith(prefix)]
        nodes = await self._link.nodes([self._paths.key(key) for key in keys]) if keys else []
        pairs = zip(keys, nodes, strict=True)
        entries = {key: entry_of(key, node) for key, node in pairs if node}
        after = await self._head()
        steps = await self._log.between(before.version, after.version)
        if steps is None:
            return None
        for key, event in changes_of(steps).items():
            entries.pop(key, None)
            if event.entry and key.startswith(prefix):
                entries[key] = event.entry
        return [entries[key] for key in sorted(entries)], revision_of(after)

    async def _head(self) -> Node:
        (head,) = await self._link.nodes([self._paths.head])
        return there(head)

    # Committing

    async def commit(
        self,
        checks: Sequence[Check],
        puts: Sequence[Put],
        deletes: Sequence[str] = (),
        session: str | None = None,
    ) -> int:
        change = change_of(checks, puts, deletes, session)
        deadline_ms = now_ms() + self._timeout_ms
        while True:
            found = await self._find(change)
            operations, writes = plan(self._paths, change, found)
            results = await self._link.write(operations)
            if results is not None:
                return self._committed(results) if writes else revision_of(found.head)
            if now_ms() > deadline_ms:
                raise Unavailable("others write to ZooKeeper all the time; nothing was written")

    async def _find(self, change: Change) -> Found:
        """In this order: see `zookeeper_commit`."""
        keys = change.keys
        asked = [self._paths.key(key) for key in keys]
        lease = [self._paths.session(change.session)] if change.session is not None else []
        shape, *nodes, head = await self._link.nodes(
            [self._paths.shape, *asked, *lease, self._paths.head]
        )
        lives = not lease or nodes[-1] is not None
        return Found(there(shape), dict(zip(keys, nodes, strict=False)), lives, there(head))

    def _committed(self, results: Sequence[Any]) -> int:
        """The head has been written last but one, before the log."""
        head = results[-2]
        if head.version % TRIM_EVERY == 0:
            self._spawn(self._trim(head.version - 1))
        revision: int = head.mzxid
        return revision

    async def _trim(self, last: int) -> None:
        with suppress(Unavailable, Unknown):  # who commits later does it
            await self._log.trim(last)

    # Watching

    async def watch(self, prefix: str, after: int) -> AsyncGenerator[Events | Reset, None]:
        moved = Moved()
        self._watchers.add(moved)
        try:
            async with aclosing(self._log.follow(prefix, after, moved)) as steps:
                async for step in steps:
                    yield step
        finally:
            self._watchers.discard(moved)

    # Sessions

    async def session(self, ttl_ms: int) -> ZookeeperSession:
        beat = Beat()
        link = self._new_link(max(ttl_ms, TTL_MIN_MS), beat.lasts)
        await link.connect(self._timeout_ms)
        node = self._paths.session(link.session_id)
        try:
            if await link.write([Create(node, ephemeral=True)]) is None:
                raise Unknown("another has taken its node")
        except BaseException as problem:
            await link.close()
            if isinstance(problem, Unknown):
                raise Unavailable(f"no session could begin: {problem}") from problem
            raise
        session = ZookeeperSession(link, node, beat, self._bury)
        self._sessions = {each for each in self._sessions if not each.lost} | {session}
        return session

    async def _bury(self) -> None:
        with suppress(Unavailable, Unknown):  # then another does
            await self._burial.bury()

    async def close(self) -> None:
        if self._link.closed:
            return
        for session in tuple(self._sessions):
            await session.abandon()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._link.close()
        for moved in self._watchers:
            moved()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
