"""A lease at the simulated store, kept alive from its owner's loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from penstock.metadata.store import Unavailable

if TYPE_CHECKING:
    from penstock.sim.store import SimStore


class SimSession:
    def __init__(self, store: SimStore, name: str, ttl_ms: float, deadline_ms: float) -> None:
        self.id = name
        self.deadline_ms = deadline_ms
        self._store = store
        self._ttl_ms = ttl_ms
        self._lost = asyncio.Event()
        self._renewing = asyncio.create_task(self._renew(), name=f"lease {name}")

    @property
    def suspended(self) -> bool:
        return self.lost or self._store.monotonic_ms() >= self.deadline_ms

    @property
    def lost(self) -> bool:
        return self._lost.is_set()

    async def wait_lost(self) -> None:
        await self._lost.wait()

    async def close(self) -> None:
        await self.stop_renewing()
        if not self.lost:
            self._lost.set()
            await self._store.end(self.id)

    async def stop_renewing(self) -> None:
        """Leaves the lease to end by itself, as when the process dies."""
        self._store.forget(self)
        self._renewing.cancel()
        await asyncio.wait([self._renewing])

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._ttl_ms / 3000)
            begun_ms = self._store.monotonic_ms()
            try:
                is_alive = await self._store.renew(self.id)
            except Unavailable:
                continue  # the deadline stays, so the owner sees itself suspended
            if not is_alive:
                self._lost.set()
                self._store.forget(self)
                return
            self.deadline_ms = begun_ms + self._ttl_ms
