"""A lease of etcd's, kept alive.

That nobody takes it for dead before its deadline holds from etcd 3.4.31 and 3.5.13 on. Before that,
a leader that was stopped for longer than a lease lasts may end the lease when it wakes, although
its successor has renewed it; see `etcd_version`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from penstock.metadata.store import SessionLost, Unavailable
from penstock.metadata.stores.etcd_messages import (
    GRANT,
    RENEW,
    REVOKE,
    Granted,
    Renewed,
    Revoked,
)
from penstock.metadata.stores.monotonic import now_ms
from penstock.metadata.stores.renewed_session import RenewedSession

if TYPE_CHECKING:
    from penstock.metadata.stores.etcd_gateway import Gateway

TTL_MIN_MS = 5000
"""Below this an election among etcd's servers would end leases of brokers that are well."""


async def begin(gateway: Gateway, ttl_ms: int, ended: Callable[[EtcdSession], None]) -> EtcdSession:
    """etcd counts in seconds, and may grant more than it was asked for."""
    seconds = -(-max(ttl_ms, TTL_MIN_MS) // 1000)
    begun_ms = now_ms()
    granted = await gateway.ask(GRANT, {"TTL": seconds}, Granted)
    return EtcdSession(gateway, granted, begun_ms, ended)


class EtcdSession(RenewedSession):
    def __init__(
        self,
        gateway: Gateway,
        granted: Granted,
        begun_ms: float,
        ended: Callable[[EtcdSession], None],
    ) -> None:
        ttl_ms = granted.ttl_s * 1000.0
        self._gateway = gateway
        self._ended = ended
        super().__init__(granted.id, ttl_ms, begun_ms + ttl_ms)

    def _over(self) -> None:
        self._ended(self)

    async def _end(self) -> None:
        with suppress(SessionLost):  # ended by itself, or the answer to a first try was lost
            await self._gateway.ask(REVOKE, {"ID": self._number}, Revoked)

    async def _renew_once(self) -> bool:
        """A leader that was replaced while it was stopped may, for a moment after it wakes, renew
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
