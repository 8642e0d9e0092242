"""What a coordinator does beside answering: load, keep time, look through all that it has."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from functools import partial
from typing import Generic

from penstock.api.coordinator import Coordinator
from penstock.api.shard import Shard
from penstock.coordination.kind import K
from penstock.server.door import Door
from penstock.server.steps import carry_out, wait_on
from penstock.world.ports import Disk

log = logging.getLogger(__name__)

RETRY_MS = 1000
LOADS_AT_ONCE = 4
"""Each takes its turn between two looks at the connections."""
LOAD_WAIT_MS = 10_000
"""Who waits for what is being loaded does not wait for what cannot be."""


class Coordinating(Generic[K]):
    def __init__(self, disk: Disk, door: Door, coordinator: Coordinator[K]) -> None:
        self._disk = disk
        self._door = door
        self._coordinator = coordinator
        self._clock = door.clock
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_ms = 0.0
        self._loads: set[asyncio.Task[None]] = set()
        self._loading = asyncio.Semaphore(LOADS_AT_ONCE)
        coordinator.on_new_shard = self._load_soon
        coordinator.wake_by = self._wake_by

    async def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def keep(self, task: asyncio.Task[None]) -> asyncio.Task[None]:
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)
        return task

    # -- loading

    def _load_soon(self, shard: Shard[K]) -> None:
        task = self.keep(asyncio.create_task(self._load(shard)))
        self._loads.add(task)
        task.add_done_callback(self._loads.discard)

    async def _load(self, shard: Shard[K]) -> None:
        await asyncio.sleep(shard.pause_ms / 1000)
        began_ms = self._clock.monotonic_ms()
        name, noun = f"{shard.leader.topic}-{shard.leader.index}", shard.kind.noun
        while not shard.is_over:
            try:
                async with self._loading:
                    await carry_out(partial(wait_on, self._disk), shard.load())
            except Exception:
                log.exception("the %ss of %s could not be loaded, which is tried again", noun, name)
                await asyncio.sleep(RETRY_MS / 1000)
            else:
                took_ms = self._clock.monotonic_ms() - began_ms
                log.info("%d %ss of %s loaded in %d ms", len(shard.kept), noun, name, took_ms)
                return

    async def until_loaded(self) -> None:
        if self._loads:
            await asyncio.wait(self._loads, timeout=LOAD_WAIT_MS / 1000)

    # -- time

    def _wake_by(self, time_ms: float) -> None:
        if self._timer is not None:
            if self._wakes_ms <= time_ms:
                return
            self._timer.cancel()
        self._wakes_ms = time_ms
        delay_ms = max(time_ms - self._clock.monotonic_ms(), 0)
        self._timer = self._door.loop.call_later(delay_ms / 1000, self._look)

    def _look(self) -> None:
        self._timer = None
        has_more = self._coordinator.expire()
        self._door.settle()
        due_ms = self._clock.monotonic_ms() if has_more else self._coordinator.next_due_ms
        if due_ms is not None:
            self._wake_by(due_ms)

    async def with_pauses(self, work: Iterable[None]) -> None:
        for _ in work:
            self._door.settle()
            await asyncio.sleep(0)
        self._door.settle()
