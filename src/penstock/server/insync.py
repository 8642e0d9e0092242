"""Who is in sync with what this broker leads: asked of the store whenever that has changed.

Followers that have caught up are taken in at once; those that were left behind are looked for from
time to time, and so is what is damaged here. Only a broker that has its lease changes anything.
"""

from __future__ import annotations

import asyncio
import logging
from itertools import islice

from penstock.errors import Refused
from penstock.metadata.changes import Commit
from penstock.metadata.cluster import Topic
from penstock.metadata.election import (
    ISR_A_COMMIT,
    WantedIsr,
    change_isr,
    is_kept_by_others,
    resign,
)
from penstock.metadata.image import Image
from penstock.metadata.keeper import Keeper
from penstock.metadata.store import Unavailable
from penstock.replication.leader import Leader
from penstock.server.door import Door

log = logging.getLogger(__name__)

CHECK_MS = 500
RETRY_MS = 500
LEADERS_A_SLICE = 200


class InSync:
    def __init__(self, door: Door, keeper: Keeper) -> None:
        self._door = door
        self._broker = door.broker
        self._clock = door.clock
        self._keeper = keeper
        self._unclear: set[Leader] = set()
        """What became of their last change is not known."""
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        door.broker.on_caught_up = self._wake.set

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._look_for_the_slow(), name="in-sync replicas"),
            asyncio.create_task(self._change(), name="changes of in-sync replicas"),
        ]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _look_for_the_slow(self) -> None:
        while True:
            await asyncio.sleep(CHECK_MS / 1000)
            for number, leader in enumerate(self._broker.open_leaders(), 1):
                if len(leader.replicas) > 1 and leader.wanted is None:
                    self._drop_the_slow(leader)
                if number % LEADERS_A_SLICE == 0:
                    await asyncio.sleep(0)
            await self._give_up_damaged()

    def _drop_the_slow(self, leader: Leader) -> None:
        config = leader.log.config
        slow = leader.left_behind(
            self._clock.monotonic_ms(), config.replica_lag_time_max_ms, config.replica_lag_max
        )
        if slow:
            name = f"{leader.topic}-{leader.index}"
            log.warning("%s: brokers %s were left behind, and are not in sync", name, sorted(slow))
            leader.want(leader.in_sync - slow)
            self._broker.caught_up(leader)

    async def _give_up_damaged(self) -> None:
        """What is found to be damaged while it is in use: others have it, and it is copied from
        them again."""
        broker = self._broker
        damaged = {
            (each.topic_id, each.index) for each in broker.open_replicas() if each.log.damage
        }

        def has_lost(topic: Topic, index: int) -> bool:
            return (topic.id, index) in damaged and is_kept_by_others(
                broker.image, topic, index, broker.node_id
            )

        def given_up(image: Image) -> Commit[int]:
            return resign(image, broker.node_id, has_lost)

        try:
            if damaged and (count := await self._keeper.change(given_up)):
                log.warning("%d damaged partitions are left to others", count)
        except (Refused, Unavailable) as problem:
            log.warning("damaged partitions could not be given up: %s", problem)

    async def _change(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while leaders := list(islice(self._broker.changing, ISR_A_COMMIT)):
                try:
                    await self._change_some(leaders)
                except (Refused, Unavailable) as problem:
                    log.warning("in-sync replicas could not be changed: %s", problem)
                    self._unclear.update(leaders)
                    await asyncio.sleep(RETRY_MS / 1000)

    async def _change_some(self, leaders: list[Leader]) -> None:
        broker = self._broker
        wanted = {}
        for leader in leaders:
            if leader.wanted is None and (ready := leader.caught_up()):
                leader.want(leader.in_sync | ready)
            if leader.over is None and leader.wanted is not None:
                wanted[leader.topic_id, leader.index] = WantedIsr(
                    leader.epoch, leader.wanted, leader in self._unclear, leader.joining()
                )
        epoch = broker.epoch
        if wanted:
            await self._keeper.change(
                lambda image: change_isr(image, broker.node_id, wanted, broker_epoch=epoch)
            )
        for leader in leaders:
            self._unclear.discard(leader)
            broker.changing.pop(leader, None)
            leader.want_no_more()
            broker.follow_partition(leader.topic_id, leader.index)
        self._door.settle()  # more may be committed now
