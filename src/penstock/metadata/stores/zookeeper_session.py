"""A lease: a ZooKeeper session of its own, and an ephemeral node that lives as long as that.

The keys bound to it are ordinary nodes, which whoever sees the ephemeral node gone deletes by an
ordinary commit: so their end is in the log, in its place among all other changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

from penstock.errors import Unusable
from penstock.metadata.store import Unavailable, Unknown
from penstock.metadata.stores.zookeeper_loop import now_ms
from penstock.metadata.stores.zookeeper_nodes import Set

if TYPE_CHECKING:
    from penstock.metadata.stores.zookeeper_link import Link

RENEWALS = 4
"""In the time of a lease. That is at least two ticks, and every half tick a follower tells the
leader who is alive: so it does between two renewals."""


class Beat:
    """The loop's sign of life. kazoo's thread looks at it, which else would go on without us."""

    def __init__(self) -> None:
        self.begun_ms = self.seen_ms = now_ms()
        self.ttl_ms = float("inf")

    def lasts(self) -> bool:
        return now_ms() - self.seen_ms < self.ttl_ms


class ZookeeperSession:
    """Renewed from the loop, by a write: only a majority of the servers can answer that.

    Even so the leader may not know yet that the session is alive, if a follower has passed the
    write on. It does when the next renewal is answered: so the lease counts from the last but one.
    """

    def __init__(
        self, link: Link, node: str, beat: Beat, ended: Callable[[], Coroutine[None, None, None]]
    ) -> None:
        self._link = link
        self._node = node
        self._beat = beat
        self._ended = ended
        self._id = link.session_id
        self._ttl_ms = beat.ttl_ms = link.granted_ms
        link.timeout_ms = self._ttl_ms / 3
        self._deadline_ms = beat.begun_ms + self._ttl_ms
        self._lost = asyncio.Event()
        self._link.lost = self._lost.set
        self._living = asyncio.create_task(self._live(), name=f"lease {self._id}")

    @property
    def id(self) -> str:
        return self._id

    @property
    def deadline_ms(self) -> float:
        return self._deadline_ms

    @property
    def suspended(self) -> bool:
        return self.lost or not self._link.connected or now_ms() >= self._deadline_ms

    @property
    def lost(self) -> bool:
        return self._lost.is_set()

    async def wait_lost(self) -> None:
        await self._lost.wait()

    async def close(self) -> None:
        """Where no server can be reached, the session ends by itself, and its keys then."""
        if not self.lost:
            self._lost.set()
            await self._stop()
            await self._link.close()
            await self._ended()

    async def abandon(self) -> None:
        """Leaves the lease to end by itself, as when the process dies."""
        await self._stop()
        if not self._link.closed:
            await self._link.abandon()

    async def _stop(self) -> None:
        self._living.cancel()
        await asyncio.wait([self._living])

    async def _live(self) -> None:
        renewing = asyncio.create_task(self._renew(), name=f"renewal of {self._id}")
        try:
            await self._lost.wait()
        finally:
            renewing.cancel()
        await self._link.abandon()

    async def _renew(self) -> None:
        confirmed_ms = self._beat.begun_ms
        while not self.lost:
            self._beat.seen_ms = now_ms()
            await asyncio.sleep(self._ttl_ms / RENEWALS / 1000)
            sent_ms = now_ms()
            try:
                alive = await self._link.write([Set(self._node, b"")]) is not None
            except (Unavailable, Unknown):
                continue  # the deadline stays where it was, so the owner sees itself suspended
            except Unusable:
                alive = False  # nor can it be kept alive: who registers again learns why
            if alive:
                self._deadline_ms = confirmed_ms + self._ttl_ms
                confirmed_ms = sent_ms
            else:
                self._lost.set()
