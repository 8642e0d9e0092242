"""A lease that is renewed from the loop: a broker whose loop hangs is not alive."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

from penstock.errors import Refused, Unusable
from penstock.metadata.store import SessionLost, Unavailable, Unknown
from penstock.metadata.stores.monotonic import now_ms


class RenewedSession(ABC):
    def __init__(self, number: int, ttl_ms: float, deadline_ms: float) -> None:
        self._number = number
        self._ttl_ms = ttl_ms
        self._deadline_ms = deadline_ms
        self._lost = asyncio.Event()
        self._renewing = asyncio.create_task(self._renew(), name=f"lease {number}")

    @property
    def id(self) -> str:
        return str(self._number)

    @property
    def deadline_ms(self) -> float:
        return self._deadline_ms

    @property
    def suspended(self) -> bool:
        return self._lost.is_set() or now_ms() >= self._deadline_ms  # asked for all the time

    @property
    def lost(self) -> bool:
        return self._lost.is_set()

    async def wait_lost(self) -> None:
        await self._lost.wait()

    async def close(self) -> None:
        await self.stop_renewing()
        if not self.lost:
            self._lost.set()
            await self._end()

    async def stop_renewing(self) -> None:
        """Leaves the lease to end by itself, as when the process dies."""
        self._over()
        self._renewing.cancel()
        await asyncio.wait([self._renewing])

    async def _renew(self) -> None:
        pause_ms = self._ttl_ms / 3
        while True:
            await asyncio.sleep(pause_ms / 1000)
            try:
                alive = await self._renew_once()
            except (Unavailable, Unknown):
                pause_ms = self._ttl_ms / 20
                continue  # the deadline stays where it was, so the owner sees itself suspended
            except (SessionLost, Unusable, Refused):
                alive = False  # or cannot be kept alive: who registers again learns why
            if not alive:
                self._lost.set()
                self._over()
                return
            pause_ms = self._ttl_ms / 3

    @abstractmethod
    async def _renew_once(self) -> bool:
        """Moves the deadline; False if the lease has ended."""

    @abstractmethod
    async def _end(self) -> None:
        """Tells the store that it is not needed any more."""

    @abstractmethod
    def _over(self) -> None:
        """It is renewed no more, for whatever reason."""
