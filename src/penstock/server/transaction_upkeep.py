"""What transactions need beside answers: partitions asked for and told, ids that are forgotten."""

from __future__ import annotations

import asyncio

from penstock.coordination.pace import Pace
from penstock.coordination.transaction.expiry import Forgetting
from penstock.server.coordinating import Coordinating
from penstock.server.door import Door
from penstock.server.ending_transactions import EndingTransactions
from penstock.server.verifying import Verifying
from penstock.world.ports import World


class TransactionUpkeep:
    def __init__(self, world: World, door: Door) -> None:
        self._broker = door.broker
        self._transactions = door.broker.transactions
        self._coordinating = Coordinating(world.disk, door, self._transactions)
        self._ending = EndingTransactions(world.network, door)
        self._verifying = Verifying(world.network, door)
        self._broker.verify = self._verifying.verify

    def start(self) -> None:
        self._transactions.follow()
        self._coordinating.keep(asyncio.create_task(self._forget_unused()))

    async def stop(self) -> None:
        await self._coordinating.stop()
        await self._ending.stop()
        await self._verifying.stop()

    def follow(self) -> None:
        """Others may lead what transactions are kept in, or what they have written to."""
        self._transactions.follow()

    async def _forget_unused(self) -> None:
        while True:
            await asyncio.sleep(self._broker.config.transaction_cleanup_interval_ms / 1000)
            await self._coordinating.with_pauses(self._transactions.sweep(Forgetting, Pace()))
