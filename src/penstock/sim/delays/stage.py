"""A run of clients with delays: begun, left to themselves under faults, and brought to an end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random

from penstock.sim.admin import Admin
from penstock.sim.client import SimClient
from penstock.sim.cluster import Cluster
from penstock.sim.delays.history import PARTITIONS, TOPIC, DelayHistory, Seen
from penstock.sim.delays.producer import DELAYS_MS, DelayProducer
from penstock.sim.delays.reader import DelayReader
from penstock.sim.delays.writer import DelayedWriter
from penstock.sim.transactions.habits import Habits
from penstock.sim.workload import LAST_READERS, REPLICAS_MAX, TOPIC_CONFIGS

LOOK_S = 0.05
END_S_MAX = 60.0
HABITS = Habits(aborts=0.4, zombies=0.0)
ALL_DUE_S = max(each or 0 for each in DELAYS_MS) / 1000 + 1
CONFIGS = {**TOPIC_CONFIGS, "delayed.delivery": "true"}


class Stage:
    def __init__(self, cluster: Cluster, history: DelayHistory, configs: Mapping[str, str]) -> None:
        self._cluster, self._history, self._configs = cluster, history, configs
        self._lives: list[DelayedWriter] = []

    async def begin(self) -> None:
        replicas = min(len(self._cluster.machines), REPLICAS_MAX)
        await Admin(self._cluster).create_topic(
            TOPIC, PARTITIONS, replicas, {**CONFIGS, **self._configs}
        )
        self._producer = DelayProducer(SimClient(self._cluster, "producer"), self._history)
        self._reader = self._reads("reader", self._history.polls.setdefault("reader", []))
        self._follow = self._cluster.director.create_task(self._look_after())

    def _reads(self, name: str, seen: list[Seen], *, to_the_end: bool = False) -> DelayReader:
        return DelayReader(SimClient(self._cluster, name), TOPIC, seen, to_the_end=to_the_end)

    async def _look_after(self) -> None:
        """Who crashed is followed by another."""
        while not self._producer.is_stopping:
            if not self._lives or self._lives[-1].is_replaced or self._lives[-1].task.done():
                number = len(self._lives)
                self._lives.append(
                    DelayedWriter(self._cluster, self._history, HABITS, "writer", number)
                )
            await asyncio.sleep(LOOK_S)

    async def end(self) -> None:
        """When all faults are over, and then when all is due."""
        self._producer.is_stopping = True
        for life in self._lives:
            life.is_stopping = life.asking.is_steady = True
        await self._until(lambda: self._producer.is_done, "the producer to end")
        await self._until(lambda: all(each.task.done() for each in self._lives), "writers to end")
        await asyncio.sleep(ALL_DUE_S)
        await self._until_none_is_held()
        self._reader.is_stopping = True
        await self._until(lambda: self._reader.is_done, "the reader to end")
        readers = [
            self._reads(name, self._history.last_reads.setdefault(name, []), to_the_end=True)
            for name in (f"last reader {number}" for number in range(LAST_READERS))
        ]
        await self._until(lambda: all(each.is_done for each in readers), "readers to end")
        self._history.has_dropped = any(each.dropped for each in readers)
        self._history.has_missed = bool(self._reader.dropped)
        self._raise_problems(
            [self._producer.tasks, self._reader.tasks, *(r.tasks for r in readers)]
        )

    async def _until_none_is_held(self) -> None:
        """But for what repeats. As the list of what is held tells it to who has asked for nothing
        yet."""
        repeating = self._history.repeating
        last_s = self._cluster.scheduler.now_s + END_S_MAX
        for number in range(1000):
            client = SimClient(self._cluster, f"lister {number}")
            lister = DelayReader(client, f"{TOPIC}.scheduled", [], to_the_end=True)
            await self._until(lambda: lister.is_done, "the list of what is held")  # noqa: B023
            left = [each for each in lister.seen if each.value not in repeating]
            if not left:
                ended = repeating - {each.value for each in lister.seen}
                self._history.problems += [f"lost: {value} repeats no more" for value in ended]
                return
            if self._cluster.scheduler.now_s > last_s:
                self._history.problems.append(f"stuck: {left[:5]} are due and still held")
                return

    def _raise_problems(self, groups: Sequence[Sequence[asyncio.Task[None]]]) -> None:
        lives = [each.task for each in self._lives]
        for task in (task for tasks in (*groups, lives, [self._follow]) for task in tasks):
            if task.done():
                task.result()

    async def _until(self, holds: Callable[[], bool], what: str) -> None:
        last_s = self._cluster.scheduler.now_s + END_S_MAX
        while not holds():
            if self._cluster.scheduler.now_s > last_s:
                self._history.problems.append(f"endless: waited {END_S_MAX} s for {what}")
                return
            await asyncio.sleep(LOOK_S)


async def play_delays(
    cluster: Cluster,
    history: DelayHistory,
    faults: Callable[[Cluster, Random], Awaitable[None]],
    configs: Mapping[str, str],
) -> None:
    stage = Stage(cluster, history, configs)
    await stage.begin()
    await faults(cluster, cluster.scheduler.chance("faults"))
    cluster.heal()
    await stage.end()
