"""The simulator's store, on a real loop and without faults."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

from penstock.metadata.store import Store
from penstock.sim.store import SimStore, StoreServer


def opener(_folder: Path) -> Callable[[], Awaitable[Store]]:
    server = StoreServer(asyncio.get_running_loop(), Random(1))

    async def open_another() -> Store:
        return SimStore(server)

    return open_another
