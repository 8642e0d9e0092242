"""Somebody who asks where a group is, once, and is done when he was told."""

from __future__ import annotations

import asyncio

from penstock.sim.client import RETRY_S, SimClient, Unreached
from penstock.sim.groups.asking import Asking
from penstock.sim.groups.history import GroupHistory


class Onlooker(Asking):
    def __init__(
        self, client: SimClient, history: GroupHistory, group: str, topic: str, partitions: int
    ) -> None:
        super().__init__(client, group)
        self._history = history
        self.tasks = [client.loop.create_task(self._look(topic, partitions))]

    @property
    def is_done(self) -> bool:
        return all(task.done() for task in self.tasks)

    async def _look(self, topic: str, partitions: int) -> None:
        while True:
            try:
                self._history.found += await self.places(topic, range(partitions))
                return
            except Unreached:
                await asyncio.sleep(RETRY_S)
