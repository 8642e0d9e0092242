"""Says what this broker has of partitions that nobody leads, and anyone may: who has most will."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from itertools import islice

from penstock.api.broker import Broker
from penstock.errors import Refused
from penstock.metadata.election import PARTITIONS_A_COMMIT, Place
from penstock.metadata.keeper import Keeper
from penstock.metadata.offering import offer
from penstock.metadata.offers import is_asked
from penstock.metadata.store import Unavailable
from penstock.server.known_ends import known_end

log = logging.getLogger(__name__)

LOGS_A_SLICE = 20
RETRY_MS = 500


class Offering:
    def __init__(self, broker: Broker, keeper: Keeper) -> None:
        self._broker = broker
        self._keeper = keeper
        self._asked: dict[Place, None] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="what this broker has")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def look_at(self, places: Iterable[Place]) -> None:
        """They may have changed."""
        image, node_id = self._broker.image, self._broker.node_id
        self._asked.update((each, None) for each in places if is_asked(image, node_id, *each))
        if self._asked:
            self._wake.set()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._offer_all()
            except (Refused, Unavailable) as problem:
                log.warning("what this broker has is said again later: %s", problem)
                await asyncio.sleep(RETRY_MS / 1000)
                self._wake.set()

    async def _offer_all(self) -> None:
        node_id = self._broker.node_id
        while places := list(islice(self._asked, PARTITIONS_A_COMMIT)):
            ends = await self._ends(places)
            await self._keeper.change(lambda image: offer(image, node_id, ends))  # noqa: B023
            for place in places:
                self._asked.pop(place, None)

    async def _ends(self, places: Iterable[Place]) -> dict[Place, tuple[int, int]]:
        broker, ends = self._broker, {}
        for count, place in enumerate(places, 1):
            ends[place] = known_end(broker.log_dir, broker.image, *place)
            if count % LOGS_A_SLICE == 0:
                await asyncio.sleep(0)
        return ends
