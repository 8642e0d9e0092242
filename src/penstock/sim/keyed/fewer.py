"""A topic with keys that loses partitions while brokers fail, and its clients go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from penstock.sim.admin import Admin
from penstock.sim.client import RETRY_S, SimClient, Unreached
from penstock.sim.cluster import Cluster
from penstock.sim.keyed.fetching import fetch
from penstock.sim.keyed.history import KeyedHistory, check
from penstock.sim.keyed.member import KINDS
from penstock.sim.keyed.producer import KeyedProducer
from penstock.sim.moves import under_faults
from penstock.sim.workload import REPLICAS_MAX, TOPIC_CONFIGS

TOPIC = "keyed"
KEYS = (range(6), range(6, 12))
"""Of each producer."""
NUMBERS = ((4, 2), (4, 1), (6, 3), (6, 2), (4, 3), (6, 4))
"""Of partitions, before and after. Where the one does not divide the other, producers pause."""
GROUP, MEMBERS = "keyed group", 2
LOOK_S, QUICK_LOOK_S = 0.05, 0.005
STRIKES, STRIKE_S_MAX = 0.7, 0.2
FALLS_BEHIND_S, IS_BEHIND_S = (0.5, 2.0), (4.0, 8.0)
READ_S_MAX = 30.0
"""Until the group has read all that was acknowledged, or has not."""
SETTINGS = {"partitions.close.when": "drained", "partitions.close.max.pause.ms": "2000"}
RESTLESS_S = 15.0
"""Members come and go for so long: as long as they do, the partitions may stay."""


async def fewer_partitions(cluster: Cluster, random: Random) -> None:
    before, after = random.choice(NUMBERS)
    keyed = Keyed(cluster, random, before, after)
    replicas = min(len(cluster.machines), REPLICAS_MAX)
    await Admin(cluster).create_topic(TOPIC, before, replicas, TOPIC_CONFIGS)
    keyed.begin()
    await asyncio.sleep(random.uniform(0.5, 2))
    await under_faults(cluster, random, keyed.reduce())
    await keyed.end()
    for finding in check(keyed.history):
        cluster.scheduler.fail(finding)


class Keyed:
    """The topic's clients, and what they have seen."""

    def __init__(self, cluster: Cluster, random: Random, before: int, after: int) -> None:
        self._cluster = cluster
        self._random = random
        self._before, self._after = before, after
        self._kind = random.choice(KINDS)
        self.history = KeyedHistory()

    def begin(self) -> None:
        cluster, history = self._cluster, self.history
        self._producers = [
            KeyedProducer(SimClient(cluster, f"keyed producer {number}"), history, TOPIC, keys)
            for number, keys in enumerate(KEYS)
        ]
        clients = [SimClient(cluster, f"keyed member {number}") for number in range(MEMBERS)]
        self._members = [self._kind(history, each, GROUP, TOPIC, self._before) for each in clients]

    async def reduce(self) -> None:
        must_pause = self._before % self._after != 0
        if must_pause:
            await self._fall_behind()
        settings = {**SETTINGS, "partitions.open": str(self._after)}
        await Admin(self._cluster).alter_topic(TOPIC, settings)
        self._cluster.director.call_later(RESTLESS_S, self._calm_down)
        if self._random.random() < STRIKES:
            await self._strike()
        await _until(self._is_reduced)
        for producer in self._producers if must_pause else ():
            producer.resume(self._after)

    async def _fall_behind(self) -> None:
        """Producers pause, and there is something left in partitions that stay, for a while."""
        for member in self._members:
            member.leaves = range(self._after)
        await asyncio.sleep(self._random.uniform(*FALLS_BEHIND_S))
        for producer in self._producers:
            producer.is_paused = True
        await _until(lambda: all(each.is_idle for each in self._producers))
        self._cluster.director.call_later(self._random.uniform(*IS_BEHIND_S), self._read_again)

    def _read_again(self) -> None:
        for member in self._members:
            member.leaves = ()

    async def _strike(self) -> None:
        """A broker ends in the moment that counts, when partitions are closed or have just gone."""
        await _until(lambda: self._is_closed() or self._is_reduced(), QUICK_LOOK_S)
        await asyncio.sleep(self._random.random() * STRIKE_S_MAX)
        victims = [self._cluster.view.controller(), self._random.choice(self._cluster.machines)]
        victim = self._random.choice([each for each in victims if each is not None])
        victim.end(power=self._random.random() < 0.5)

    def _is_reduced(self) -> bool:
        return len(self._cluster.view.partitions(TOPIC)) == self._after

    def _is_closed(self) -> bool:
        topics = {topic.name: topic.closing for topic in self._cluster.view.topics()}
        closing = topics.get(TOPIC)
        return closing is not None and closing.closed_ms > 0

    async def end(self) -> None:
        """When everything is well again."""
        self._calm_down()
        await asyncio.sleep(1)
        for producer in self._producers:
            producer.stop()
        await _until(lambda: all(each.is_done for each in self._producers))
        scheduler = self._cluster.scheduler
        last_s = scheduler.now_s + READ_S_MAX
        await _until(lambda: not self.history.unread or scheduler.now_s > last_s)
        for member in self._members:
            member.stop()
        await _until(lambda: all(each.is_done for each in self._members))
        client = SimClient(self._cluster, "keyed reader")
        reading = client.loop.create_task(self._read_all(client))
        await _until(reading.done)
        for task in (reading, *(task for each in self._producers for task in each.tasks)):
            task.result()

    def _calm_down(self) -> None:
        for member in self._members:
            member.is_steady = True

    async def _read_all(self, client: SimClient) -> None:
        for topic in self._cluster.view.topics():
            is_ours = topic.name == TOPIC or (topic.sealed and topic.sealed.name == TOPIC)
            for partition in range(topic.partitions if is_ours else 0):
                await self._read(client, topic.name, partition)

    async def _read(self, client: SimClient, topic: str, partition: int) -> None:
        offset, is_end = 0, False
        while not is_end:
            try:
                messages, offset, is_end = await fetch(client, topic, partition, offset)
            except Unreached:
                await asyncio.sleep(RETRY_S)
                continue
            self.history.stored.update(messages)


async def _until(holds: Callable[[], bool], look_s: float = LOOK_S) -> None:
    """It ends with the run, at the latest."""
    while not holds():
        await asyncio.sleep(look_s)
