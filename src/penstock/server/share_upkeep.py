"""What shares need beside answers: they are loaded, asked for, and go with their topics."""

from __future__ import annotations

import asyncio

from penstock.coordination.pace import Pace
from penstock.coordination.share.forgetting import KEPT_MS, Forgetting
from penstock.metadata.cluster import Changed
from penstock.server.coordinating import Coordinating
from penstock.server.door import Door
from penstock.server.end_offsets import EndOffsets
from penstock.server.share_admin import AskingForAdmin
from penstock.server.share_states import AskingForShares
from penstock.world.ports import World

FORGET_EVERY_MS = KEPT_MS
"""For shares of topics that are not known, whose time is up some day."""


class ShareUpkeep:
    def __init__(self, world: World, door: Door) -> None:
        self._shares = door.broker.shares
        self._coordinating = Coordinating(world.disk, door, self._shares)
        self._asking = door.broker.share_states = AskingForShares(world.network, door)
        self._ends = EndOffsets(world.network, door)
        door.broker.share_admin = AskingForAdmin(self._asking, self._ends)
        self._topics_have_gone = False
        self._sweep: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._shares.follow()
        self._coordinating.keep(asyncio.create_task(self._forget_now_and_then()))

    async def stop(self) -> None:
        await self._asking.stop()
        await self._ends.stop()
        await self._coordinating.stop()

    def follow(self, changed: Changed) -> None:
        """Others may lead what shares are kept in, and topics may be there no more."""
        self._shares.follow()
        if changed.deleted or changed.reduced:
            self._topics_have_gone = True
            if self._sweep is None or self._sweep.done():
                self._sweep = self._coordinating.keep(asyncio.create_task(self._forget_gone()))

    async def _forget_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(FORGET_EVERY_MS / 1000)
            await self._forget()

    async def _forget_gone(self) -> None:
        """One sweep at a time, for all topics that have gone since the last one began."""
        while self._topics_have_gone:
            await self._coordinating.until_loaded()
            self._topics_have_gone = False
            await self._forget()

    async def _forget(self) -> None:
        await self._coordinating.with_pauses(self._shares.sweep(Forgetting, Pace()))
