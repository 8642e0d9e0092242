"""Readers of what is committed: one that goes on while all is under way, and the last ones."""

from __future__ import annotations

import asyncio

from penstock.sim.client import RETRY_S, SimClient, Unreached
from penstock.sim.transactions.fetching import Fetched, fetch
from penstock.sim.transactions.history import Read, TransactionHistory
from penstock.sim.transactions.topics import COPIES, PARTITIONS, SOURCE

STABLE_S_MAX = 30.0
"""Until no transaction is open any more: their timeouts have passed by then."""
LOOK_S = 0.3
SETTLED_S = 1.0
"""The end has to stay where it is for so long: a new leader learns only in time what is
committed."""


class CommittedReader:
    def __init__(
        self,
        client: SimClient,
        history: TransactionHistory,
        *,
        to_the_end: bool = False,
        is_last: bool = False,
    ) -> None:
        """`to_the_end`: it is done where nothing more comes, and finds out what hangs."""
        self._client = client
        self._history = history
        self._to_the_end = to_the_end
        self.is_stopping = False
        reads = history.last_reads if is_last else history.polls
        self._seen: list[Read] = reads.setdefault(client.name, [])
        spots = [(topic, index) for topic in (SOURCE, COPIES) for index in range(PARTITIONS)]
        self.tasks = [client.loop.create_task(self._read(*spot)) for spot in spots]

    @property
    def is_done(self) -> bool:
        return all(task.done() for task in self.tasks)

    async def _read(self, topic: str, partition: int) -> None:
        offset, loop = 0, self._client.loop
        last_s = loop.time() + STABLE_S_MAX
        settled_s = loop.time() + SETTLED_S
        while not self.is_stopping:
            try:
                fetched = await fetch(self._client, topic, partition, offset)
            except Unreached:
                self._client.forget_leaders()
                await asyncio.sleep(RETRY_S)
                continue
            self._seen += fetched.reads
            if fetched.following > offset:
                offset, settled_s = fetched.following, loop.time() + SETTLED_S
                continue
            if self._to_the_end and self._is_over(topic, partition, fetched, settled_s, last_s):
                return
            await asyncio.sleep(LOOK_S)

    def _is_over(
        self, topic: str, partition: int, fetched: Fetched, settled_s: float, last_s: float
    ) -> bool:
        now_s = self._client.loop.time()
        if fetched.following >= fetched.end:
            return now_s >= settled_s
        if now_s >= last_s:
            self._history.problems.append(
                f"hanging: {topic}-{partition} is stable up to {fetched.stable} of {fetched.end}"
            )
            return True
        return False
