"""Says what this broker has of partitions that nobody leads, and anyone may: who has most will."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from itertools import islice

from penstock.api.broker import Broker
from penstock.errors import Refused, Unusable
from penstock.metadata.election import PARTITIONS_A_COMMIT, Place
from penstock.metadata.keeper import Keeper
from penstock.metadata.offering import offer
from penstock.metadata.offers import NOTHING, is_asked
from penstock.metadata.store import Unavailable

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
        ends = {}
        for count, place in enumerate(places, 1):
            ends[place] = self._end(*place)
            if count % LOGS_A_SLICE == 0:
                await asyncio.sleep(0)
        return ends

    def _end(self, topic_id: bytes, index: int) -> tuple[int, int]:
        """The epoch of the last record, and where the log ends."""
        log_dir, topic = self._broker.log_dir, self._broker.image.topic_by_id(topic_id)
        key = topic.name if topic else "", index
        found = log_dir.logs.get(key)
        if found is None or key in log_dir.unrecoverable:
            return NOTHING
        try:
            return found.latest_epoch, found.end_offset
        except (OSError, Refused, Unusable) as problem:
            log.error("%s cannot be read: %s", found.folder, problem)
            return NOTHING
