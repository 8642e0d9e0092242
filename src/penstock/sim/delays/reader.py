"""Readers of a topic with delays: one that goes on while all is under way, and the last ones."""

from __future__ import annotations

import asyncio

from penstock.sim.client import RETRY_S, SimClient, Unreached
from penstock.sim.delays.history import PARTITIONS, Seen
from penstock.sim.delays.producer import now_ms
from penstock.sim.transactions.fetching import Dropped, fetch

LOOK_S = 0.1
SETTLED_S = 1.5
"""The end has to stay where it is for so long: a new leader learns only in time what is
committed."""


class DelayReader:
    def __init__(
        self, client: SimClient, topic: str, seen: list[Seen], *, to_the_end: bool = False
    ) -> None:
        self._client = client
        self._topic = topic
        self._to_the_end = to_the_end
        self.seen = seen
        self.dropped: dict[int, list[tuple[int, int]]] = {}
        """By partition, from where to where there was nothing any more."""
        self.is_stopping = False
        self.tasks = [client.loop.create_task(self._read(index)) for index in range(PARTITIONS)]

    @property
    def is_done(self) -> bool:
        return all(task.done() for task in self.tasks)

    async def _read(self, partition: int) -> None:
        offset, loop = 0, self._client.loop
        settled_s = loop.time() + SETTLED_S
        while not self.is_stopping:
            try:
                fetched = await fetch(
                    self._client, self._topic, partition, offset, may_be_dropped=True
                )
            except Dropped as dropped:
                self.dropped.setdefault(partition, []).append((offset, dropped.start))
                offset = max(offset, dropped.start)
                await asyncio.sleep(RETRY_S)
                continue
            except Unreached:
                self._client.forget_leaders()
                await asyncio.sleep(RETRY_S)
                continue
            at_ms = now_ms(self._client)
            self.seen += [Seen(partition, each.offset, each.value, at_ms) for each in fetched.reads]
            if fetched.following > offset:
                offset, settled_s = fetched.following, loop.time() + SETTLED_S
            elif self._to_the_end and loop.time() >= settled_s and fetched.following >= fetched.end:
                return
            else:
                await asyncio.sleep(LOOK_S)
