"""A run of leaders that read and store shares, in the processes of the brokers themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from penstock.sim.admin import Admin
from penstock.sim.cluster import Cluster
from penstock.sim.machine import Process
from penstock.sim.shares.history import ShareHistory
from penstock.sim.shares.leader import ShareLeader
from penstock.sim.workload import REPLICAS_MAX, TOPIC, TOPIC_CONFIGS

PARTITIONS = 3
TEXTS = {"share.coordinator.state.topic.num.partitions": "3"}
LOOK_S = 0.02
END_S_MAX = 60.0


class Stage:
    def __init__(self, cluster: Cluster, history: ShareHistory) -> None:
        self._cluster, self._history = cluster, history
        self._leaders: dict[Process, list[ShareLeader]] = {}
        self._is_over = False

    async def begin(self) -> None:
        replicas = min(len(self._cluster.machines), REPLICAS_MAX)
        await Admin(self._cluster).create_topic(TOPIC, PARTITIONS, replicas, TOPIC_CONFIGS)
        self._task = self._cluster.director.create_task(self._look_after())

    async def _look_after(self) -> None:
        """Every process that is up leads, from its start on and until it is killed."""
        while not self._is_over:
            for machine in self._cluster.machines:
                process = machine.process
                if process is not None and process.is_ready and process not in self._leaders:
                    self._leaders[process] = self._begin(process, goes_on=True)
            await asyncio.sleep(LOOK_S)

    def _begin(self, process: Process, *, goes_on: bool) -> list[ShareLeader]:
        assert process.node is not None
        leaders = []
        for share in range(PARTITIONS):
            name = (
                f"leader of {share} after {len(self._history.steps)} steps in {process.loop.name}"
            )
            random = self._cluster.scheduler.chance(name)
            leaders.append(ShareLeader(process.node, self._history, share, random, goes_on=goes_on))
            process.loop.create_task(leaders[-1].run())
        return leaders

    async def end(self) -> None:
        """When all faults are over: all shares are read once more."""
        before = len(self._history.steps)
        await self._until(lambda: self._have_all_written(before), "all shares to be written")
        self._is_over = True
        await self._task
        for leader in (each for leaders in self._leaders.values() for each in leaders):
            leader.is_stopping = True
        last = [
            leader
            for machine in self._cluster.machines
            if machine.process is not None and machine.process.is_ready
            for leader in self._begin(machine.process, goes_on=False)
        ]
        read_before = len(self._history.steps)
        await self._until(lambda: self._have_all_read(read_before), "all shares to be read")
        for leader in last:
            leader.is_stopping = True

    def _have_all_written(self, first: int) -> bool:
        steps = self._history.steps[first:]
        return len({each.share for each in steps if each.ended and not each.is_read}) == PARTITIONS

    def _have_all_read(self, first: int) -> bool:
        steps = self._history.steps[first:]
        return len({each.share for each in steps if each.ended and each.is_read}) == PARTITIONS

    async def _until(self, holds: Callable[[], bool], what: str) -> None:
        scheduler = self._cluster.scheduler
        last_s = scheduler.now_s + END_S_MAX
        while not holds():
            if scheduler.now_s > last_s:
                self._history.problems.append(f"endless: waited {END_S_MAX} s for {what}")
                return
            await asyncio.sleep(LOOK_S)


async def play_shares(
    cluster: Cluster,
    history: ShareHistory,
    faults: Callable[[Cluster, Random], Awaitable[None]],
) -> None:
    stage = Stage(cluster, history)
    await stage.begin()
    await faults(cluster, cluster.scheduler.chance("faults"))
    cluster.heal()
    await stage.end()
