"""The controller's work, and how a broker comes to do it.

Every broker watches for the controller to go, and one takes its place. What there is to do follows
from the image alone, so a new controller goes on where the old one was.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice

from penstock.config import BrokerConfig
from penstock.errors import Refused
from penstock.metadata.cluster import Changed
from penstock.metadata.election import Place, leaderless_first, settle_partitions
from penstock.metadata.growth import settle_factor, widen_topic
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import INTERNAL, shape
from penstock.metadata.keeper import AHEAD_MS_MAX, Keeper
from penstock.metadata.leadership import return_leadership
from penstock.metadata.records import ControllerRecord
from penstock.metadata.store import Session, SessionLost, Unavailable
from penstock.metadata.sweeping import forget_deleted, sweep
from penstock.metadata.terms import begin_term, take_lease

log = logging.getLogger(__name__)

RETRY_MS = 500
PARTITIONS_A_SLICE = 500
TOPICS_A_SLICE = 100
SWEEP_MS = 2 * AHEAD_MS_MAX
RETURN_PAUSE_MS = 1000
"""Between some leaderships that go back and the next ones."""


class Controlling:
    def __init__(
        self,
        keeper: Keeper,
        node_id: int,
        lease: Callable[[], Session],
        config: Callable[[], BrokerConfig] = BrokerConfig,
    ) -> None:
        self._keeper = keeper
        self._config = config
        self._image: Image = keeper.image
        self._node_id = node_id
        self._lease = lease
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._holds_term = False
        self._look_at_all = False
        self._places: dict[Place, None] = {}

    def start(self) -> None:
        self._wake.set()
        self._tasks = [
            asyncio.create_task(self._run(), name="controller"),
            asyncio.create_task(self._return_leadership(), name="preferred leaders"),
            asyncio.create_task(self._sweep(), name="leftovers in the store"),
        ]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def follow(self, changed: Changed) -> None:
        """Whatever may give the controller something to do."""
        if changed.brokers or changed.broker_configs:
            self._look_at_all = True
        for topic_id in changed.altered:
            topic = self._image.topic_by_id(topic_id)
            count = topic.record.partitions if topic else 0
            self._places.update(((topic_id, index), None) for index in range(count))
        self._places.update(changed.partitions)
        if self._look_at_all or self._places or changed.controller:
            self._wake.set()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self.work()
            except (Refused, SessionLost, Unavailable) as problem:
                log.warning("a controller's work is tried again: %s", problem)
                await self._again()
            except Exception:
                log.exception("a controller's work failed, and is tried again")
                await self._again()

    async def _again(self) -> None:
        self._look_at_all = True
        await asyncio.sleep(RETRY_MS / 1000)
        self._wake.set()

    async def work(self) -> None:
        """Until there is nothing left to do for now."""
        if not await self._is_ours():
            self._places.clear()
            return
        while self._look_at_all or self._places:
            brokers_changed = self._look_at_all
            places = leaderless_first(self._image, self._take_places())
            topics = {topic_id for topic_id, _ in places}
            await self._settle(iter(places))
            await self._settle_factors(topics)
            for name in sorted(INTERNAL):
                topic = self._image.topic(name)
                if topic is not None and (brokers_changed or topic.id in topics):
                    await self._widen(name, shape(self._config(), name).replicas)

    async def _is_ours(self) -> bool:
        """Whether this broker is the controller, or has just become it."""
        holder = self._image.single(ControllerRecord)
        session = self._lease()
        if holder is not None and holder.session == session.id and self._holds_term:
            return True
        self._holds_term = False
        if holder is not None and holder.record.node_id != self._node_id:
            return False
        self._holds_term = await self._take_over(session.id)
        if self._holds_term:
            log.info("broker %d is the controller", self._node_id)
            self._look_at_all = True
        return self._holds_term

    async def _take_over(self, session: str) -> bool:
        node_id, change = self._node_id, self._keeper.change
        if not await change(lambda image: take_lease(image, node_id, session)):
            return False
        return await change(lambda image: begin_term(image, node_id, session))

    def _take_places(self) -> list[Place]:
        places, self._places = self._places, {}
        if not self._look_at_all:
            return list(places)
        self._look_at_all = False
        return [
            (topic.id, index)
            for topic in self._image.topics.values()
            for index in range(topic.record.partitions)
        ]

    async def _settle(self, places: Iterator[Place]) -> None:
        while batch := list(islice(places, PARTITIONS_A_SLICE)):
            await self._settle_batch(batch)
            await asyncio.sleep(0)

    async def _settle_batch(self, batch: Sequence[Place]) -> None:
        while await self._keeper.change(lambda image: settle_partitions(image, batch)):
            pass

    # -- replicas that come and go

    async def _settle_factors(self, topics: Iterable[bytes]) -> None:
        for count, topic_id in enumerate(topics, 1):
            if settle_factor(self._image, topic_id).answer:
                await self._keeper.change(lambda image: settle_factor(image, topic_id))  # noqa: B023
            if count % TOPICS_A_SLICE == 0:
                await asyncio.sleep(0)

    async def _widen(self, topic: str, replicas: int) -> None:
        while count := await self._keeper.change(lambda image: widen_topic(image, topic, replicas)):
            log.info("%s: %d partitions get more replicas", topic, count)

    # -- leftovers

    async def _sweep(self) -> None:
        """What was left at one look and still is at the next belongs to nobody."""
        before: set[bytes] = set()
        while True:
            await asyncio.sleep(SWEEP_MS / 1000)
            left = {topic_id for topic_id, _ in self._image.orphans()}
            try:
                if self.is_controller:
                    await self._sweep_all(left & before)
            except (Refused, Unavailable) as problem:
                log.warning("leftovers in the store are deleted another time: %s", problem)
            except Exception:
                log.exception("leftovers in the store could not be deleted")
            before = left

    async def _sweep_all(self, topic_ids: Collection[bytes]) -> None:
        if topic_ids:
            while await self._keeper.change(lambda image: sweep(image, topic_ids)):
                pass
        while await self._keeper.change(forget_deleted):
            pass

    # -- leaders

    async def _return_leadership(self) -> None:
        while True:
            await asyncio.sleep(self._config().leader_imbalance_check_s)
            try:
                while self._may_return_leadership() and await self._return_some():
                    await asyncio.sleep(RETURN_PAUSE_MS / 1000)
            except (Refused, Unavailable) as problem:
                log.warning("preferred leaders are elected another time: %s", problem)
            except Exception:
                log.exception("preferred leaders could not be elected")

    def _may_return_leadership(self) -> bool:
        return self.is_controller and self._config().auto_leader_rebalance

    @property
    def is_controller(self) -> bool:
        return self._holds_term and self._image.controller_id == self._node_id

    async def _return_some(self) -> int:
        percent = self._config().leader_imbalance_percent
        count = await self._keeper.change(lambda image: return_leadership(image, percent))
        if count:
            log.info("%d partitions are led by their preferred leaders again", count)
        return count
