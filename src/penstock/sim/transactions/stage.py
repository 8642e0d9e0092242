"""A run of clients with transactions: begun, left to themselves under faults, and brought to an
end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from penstock.sim.admin import Admin
from penstock.sim.client import SimClient
from penstock.sim.cluster import Cluster
from penstock.sim.transactions.asking import Asking
from penstock.sim.transactions.copier import Copier, find_places
from penstock.sim.transactions.habits import Habits
from penstock.sim.transactions.history import TransactionHistory
from penstock.sim.transactions.life import Life
from penstock.sim.transactions.reader import CommittedReader
from penstock.sim.transactions.topics import COPIES, PARTITIONS, SOURCE
from penstock.sim.transactions.writer import Writer
from penstock.sim.workload import LAST_READERS, REPLICAS_MAX, TOPIC_CONFIGS

LOOK_S = 0.02
LAST_READER = "last reader"
WRITERS = 2
END_S_MAX = 60.0
LEFT_OPEN = 0.3
"""How often a writer leaves a transaction open in the end."""


class Role:
    """A transactional id, and those who work in its name one after the other."""

    def __init__(
        self,
        cluster: Cluster,
        history: TransactionHistory,
        habits: Habits,
        who: str,
        kind: type[Life],
    ) -> None:
        self._cluster, self._history, self._habits = cluster, history, habits
        self._who, self._kind = who, kind
        self._is_steady = self._is_ending = False
        self.lives: list[Life] = []
        self._begin()
        self._task = cluster.director.create_task(self._look_after())

    def _begin(self) -> None:
        number = len(self.lives)
        life = self._kind(self._cluster, self._history, self._habits, self._who, number)
        life.asking.is_steady = self._is_steady
        self.lives.append(life)

    async def _look_after(self) -> None:
        while not self._is_ending:
            if self.latest.is_replaced or self.latest.task.done():
                self._begin()
            await asyncio.sleep(LOOK_S)

    @property
    def latest(self) -> Life:
        return self.lives[-1]

    def calm_down(self) -> None:
        """From now on nothing fails by itself."""
        self._is_steady = True
        for life in self.lives:
            life.asking.is_steady = True

    def end(self, *, leaves_open: bool = False) -> None:
        """Nobody follows who is over by now. Only time ends a transaction that is left open."""
        self._is_ending = True
        self.latest.is_doomed = leaves_open
        for life in self.lives:
            life.is_stopping = True

    @property
    def is_done(self) -> bool:
        return self._task.done() and all(life.task.done() for life in self.lives)

    def raise_problems(self) -> None:
        for task in (self._task, *(life.task for life in self.lives)):
            if not task.done():
                continue  # which is a finding of its own
            task.result()


class Stage:
    def __init__(self, cluster: Cluster, history: TransactionHistory, habits: Habits) -> None:
        self._cluster, self._history, self._habits = cluster, history, habits
        self._random = cluster.scheduler.chance("stage")

    async def begin(self) -> None:
        replicas = min(len(self._cluster.machines), REPLICAS_MAX)
        for topic in (SOURCE, COPIES):
            await Admin(self._cluster).create_topic(topic, PARTITIONS, replicas, TOPIC_CONFIGS)
        names: dict[str, type[Life]] = {f"writer {each}": Writer for each in range(WRITERS)}
        names["copier"] = Copier
        self._roles = {name: self._role(name, kind) for name, kind in names.items()}
        self._reader = CommittedReader(SimClient(self._cluster, "reader"), self._history)

    def _role(self, name: str, kind: type[Life]) -> Role:
        return Role(self._cluster, self._history, self._habits, name, kind)

    async def end(self) -> None:
        """When all faults are over."""
        writers = [role for name, role in self._roles.items() if name != "copier"]
        copier = self._roles["copier"]
        for role in self._roles.values():
            role.calm_down()
        for role in writers:
            role.end(leaves_open=self._random.random() < LEFT_OPEN)
        await self._until(lambda: all(role.is_done for role in writers), "writers to end")
        await self._read_all("early reader", 1)  # which waits for what is open
        await self._until(lambda: self._has_copied(copier), "all to be copied")
        copier.end()
        await self._until(lambda: copier.is_done, "the copier to end")
        self._reader.is_stopping = True
        await self._until(lambda: self._reader.is_done, "the reader to end")
        for role in self._roles.values():
            role.raise_problems()
        await self._look_last()
        await self._read_all(LAST_READER, LAST_READERS)

    def _has_copied(self, copier: Role) -> bool:
        life = copier.latest
        return isinstance(life, Copier) and life.is_at_the_end

    async def _look_last(self) -> None:
        client = SimClient(self._cluster, "onlooker")
        asking = Asking(client, self._habits)
        asking.is_steady = True
        found = client.loop.create_task(find_places(asking, self._history))
        await self._until(found.done, "the group's offsets to be stable")
        if found.done():
            self._history.last_places += found.result()

    async def _read_all(self, name: str, count: int) -> None:
        readers = [
            CommittedReader(
                SimClient(self._cluster, f"{name} {number}"),
                self._history,
                to_the_end=True,
                is_last=name == LAST_READER,
            )
            for number in range(count)
        ]
        await self._until(lambda: all(each.is_done for each in readers), "readers to end")
        for task in (task for reader in readers for task in reader.tasks if task.done()):
            task.result()

    async def _until(self, holds: Callable[[], bool], what: str) -> None:
        scheduler = self._cluster.scheduler
        last_s = scheduler.now_s + END_S_MAX
        while not holds():
            if scheduler.now_s > last_s:
                self._history.problems.append(f"endless: waited {END_S_MAX} s for {what}")
                return
            await asyncio.sleep(LOOK_S)


async def play_transactions(
    cluster: Cluster,
    history: TransactionHistory,
    habits: Habits,
    faults: Callable[[Cluster, Random], Awaitable[None]],
) -> None:
    stage = Stage(cluster, history, habits)
    await stage.begin()
    await faults(cluster, cluster.scheduler.chance("faults"))
    cluster.heal()
    await stage.end()
