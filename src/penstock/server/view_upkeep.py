"""Views that go when unused: what is read here is noted, and the controller deletes the others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from penstock.errors import Refused
from penstock.metadata.idle_views import delete_idle, idle, note_used, worth_noting
from penstock.metadata.keeper import Keeper
from penstock.metadata.store import Unavailable
from penstock.server.door import Door
from penstock.world.ports import Chance

log = logging.getLogger(__name__)

ROUND_MS = 500


class ViewUpkeep:
    def __init__(
        self, chance: Chance, door: Door, keeper: Keeper, is_controller: Callable[[], bool]
    ) -> None:
        self._chance = chance
        self._clock = door.clock
        self._image = keeper.image
        self._sieves = door.broker.sieves
        self._keeper = keeper
        self._is_controller = is_controller
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="views that nobody reads")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(ROUND_MS / 1000)
            try:
                await self.work()
            except (Refused, Unavailable) as problem:
                log.warning("views that nobody reads are looked for another time: %s", problem)
            except Exception:
                log.exception("views that nobody reads could not be looked for")

    async def work(self) -> None:
        now_ms, used = self._clock.now_ms(), self._sieves.used
        self._sieves.forget_gone(self._image.readable)
        while worth_noting(self._image, used, now_ms):
            noted = await self._keeper.change(lambda image: note_used(image, used, now_ms))
            used.difference_update(noted)
        while self._is_controller() and idle(self._image, now_ms):
            nonce = self._chance.uuid()
            gone = await self._keeper.change(lambda image: delete_idle(image, now_ms, nonce))  # noqa: B023
            for name in gone:
                log.info("view %s goes: nobody has read it for long", name)
