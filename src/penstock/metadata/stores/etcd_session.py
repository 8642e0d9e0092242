"""A lease of etcd's, kept alive.

That nobody takes it for dead before its deadline holds from etcd 3.4.31 and 3.5.13 on. Before that,
a leader that was stopped for longer than a lease lasts may end the lease when it wakes, although
its successor has renewed it; see `etcd_version`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from penstock.errors import Refused, Unusable
from penstock.metadata.store import SessionLost, Unavailable
from penstock.metadata.stores.etcd_messages import (
    GRANT,
    RENEW,
    REVOKE,
    Granted,
    Renewed,
    Revoked,
)

if TYPE_CHECKING:
    from penstock.metadata.stores.etcd_gateway import Gateway

TTL_MIN_MS = 5000
"""Below this an election among etcd's servers would end leases of brokers that are well."""


def now_ms() -> float:
    return time.monotonic() * 1000


async def begin(gateway: Gateway, ttl_ms: int, ended: Callable[[EtcdSession], None]) -> EtcdSession:
    """etcd counts in seconds, and may grant more than it was asked for."""
    seconds = -(-max(ttl_ms, TTL_MIN_MS) // 1000)
    begun_ms = now_ms()
    granted = await gateway.ask(GRANT, {"TTL": seconds}, Granted)
    return EtcdSession(gateway, granted, begun_ms, ended)


class EtcdSession:
    """Renewed from the loop: a broker whose loop hangs is not alive."""

    def __init__(
        self,
        gateway: Gateway,
        granted: Granted,
        begun_ms: float,
        ended: Callable[[EtcdSession], None],
    ) -> None:
        self._gateway = gateway
        self._number = granted.id
        self._ttl_ms = granted.ttl_s * 1000.0
        self._deadline_ms = begun_ms + self._ttl_ms
        self._ended = ended
        self._lost = asyncio.Event()
        self._renewing = asyncio.create_task(self._renew(), name=f"lease {granted.id}")

    @property
    def id(self) -> str:
        return str(self._number)

    @property
    def deadline_ms(self) -> float:
        return self._deadline_ms

    @property
    def suspended(self) -> bool:
        return self.lost or now_ms() >= self._deadline_ms

    @property
    def lost(self) -> bool:
        return self._lost.is_set()

    async def wait_lost(self) -> None:
        await self._lost.wait()

    async def close(self) -> None:
        await self.stop_renewing()
        if self.lost:
            return
        self._lost.set()
        with suppress(SessionLost):  # ended by itself, or the answer to a first try was lost
            await self._gateway.ask(REVOKE, {"ID": self._number}, Revoked)

    async def stop_renewing(self) -> None:
        """Leaves the lease to end by itself, as when the process dies."""
        self._ended(self)
        self._renewing.cancel()
        await asyncio.wait([self._renewing])

    async def _renew(self) -> None:
        pause_ms = self._ttl_ms / 3
        while True:
            await asyncio.sleep(pause_ms / 1000)
            try:
                alive = await self._renew_once()
            except Unavailable:
                pause_ms = self._ttl_ms / 20
                continue  # the deadline stays where it was, so the owner sees itself suspended
            except (SessionLost, Unusable, Refused):
                alive = False  # or cannot be kept alive: who registers again learns why
            if not alive:
                self._lost.set()
                self._ended(self)
                return
            pause_ms = self._ttl_ms / 3

    async def _renew_once(self) -> bool:
        """False if the lease has ended.

        A leader that was replaced while it was stopped may, for a moment after it wakes, renew
        what is no longer its to renew. So a read follows that needs the consent of a majority: if
        the term is still the same after that, it was the leader who renewed.
        """
        begun_ms = now_ms()
        patience_ms = min(self._gateway.timeout_ms, self._ttl_ms / 3)
        renewed = await self._gateway.ask(RENEW, {"ID": self._number}, Renewed, patience_ms)
        if not renewed.result.ttl_s:
            return False
        agreed = await self._gateway.agree(patience_ms)
        if agreed.raft_term != renewed.header.raft_term:
            raise Unavailable("etcd has a new leader, which has not renewed the lease yet")
        self._deadline_ms = begun_ms + renewed.result.ttl_s * 1000
        return True
