"""One process that works in transactions: until it is told to stop, crashes, or is shut out."""

from __future__ import annotations

import asyncio

from penstock.sim.client import SimClient
from penstock.sim.cluster import Cluster
from penstock.sim.transactions.asking import Asking
from penstock.sim.transactions.habits import Habits
from penstock.sim.transactions.history import Transaction, TransactionHistory
from penstock.sim.transactions.kinds import KINDS
from penstock.sim.transactions.verdicts import Fenced, MustAbort


class Crashed(Exception):
    """It does nothing more, and says so to nobody."""


class Life:
    def __init__(
        self, cluster: Cluster, history: TransactionHistory, habits: Habits, who: str, number: int
    ) -> None:
        self.client = SimClient(cluster, f"{who} {number}")
        self.history = history
        self.habits = habits
        self.asking = Asking(self.client, habits)
        ids = {topic.name: topic.topic_id for topic in cluster.view.topics()}
        kind = self.client.random.choice(KINDS)
        self.session = kind(self.asking, who, ids)
        self.client.note(f"is a {kind.__name__}")
        self.is_replaced = False
        """Somebody else is to begin in its place."""
        self.is_stopping = False
        self.is_doomed = False
        """It crashes in its next transaction, and nobody follows it."""
        self.task = self.client.loop.create_task(self._run())

    async def _run(self) -> None:
        try:
            await self.session.init()
            await self.prepare()
            while (self.is_doomed or not self.is_stopping) and not self.is_replaced:
                await self.turn()
                await self.pause()
        except (Fenced, Crashed) as end:
            self.client.note(f"is over: {type(end).__name__}")

    async def prepare(self) -> None:
        """Before the first transaction."""

    async def turn(self) -> None:
        """Do one transaction, if there is something to do."""
        raise NotImplementedError

    async def pause(self) -> None:
        await asyncio.sleep(self.client.random.random() * self.habits.pause_s)

    async def may_fail(self) -> None:
        """In the midst of a transaction."""
        if self.is_doomed:
            raise Crashed
        if self.asking.is_steady:
            return
        random, habits = self.client.random, self.habits
        if random.random() < habits.sleeps:
            await asyncio.sleep(random.uniform(0.9, 1.5) * self.session.timeout_ms / 1000)
        if random.random() < habits.crashes and not self.is_replaced:
            self.is_replaced = True
            if random.random() > habits.zombies:
                raise Crashed
            await asyncio.sleep(self.asking.some_time_s())

    async def end(self, transaction: Transaction) -> None:
        """By chance."""
        is_commit = self.client.random.random() > self.habits.aborts
        await self.session.end(transaction, is_commit=is_commit)

    async def abort(self, transaction: Transaction, why: MustAbort) -> None:
        self.client.note(f"has to abort: {why}")
        await self.session.end(transaction, is_commit=False)
