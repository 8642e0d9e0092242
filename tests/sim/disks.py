"""The simulated disk on a loop of its own, for tests that need nothing else of a cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from typing import Any

from penstock.sim.disk import SimDisk
from penstock.sim.loop import VirtualLoop, virtual_loop
from penstock.sim.scheduler import Scheduler
from penstock.sim.storage import Storage
from penstock.sim.world import SimClock


class Machine:
    def __init__(self, seed: int = 1, *, in_order: bool = True) -> None:
        self.scheduler = Scheduler(seed)
        self.loop: VirtualLoop = virtual_loop(self.scheduler, "process")
        self.storage = Storage(self.scheduler.chance("disk"))
        self.storage.loses_in_order = in_order
        self.disk = SimDisk(self.storage, self.loop, SimClock(self.scheduler))
        self.storage.make_folder("/data")

    def wait(self, work: Awaitable[None]) -> None:
        async def wait() -> None:
            await work

        self.run(wait())

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(work)
        self.scheduler.run(task.done, 1e6)
        task.result()

    def after_power_loss(self) -> SimDisk:
        """The disk as the next process finds it."""
        self.storage.crash()
        return SimDisk(self.storage, self.loop, SimClock(self.scheduler))
