"""Writes transactions of some records to several partitions."""

from __future__ import annotations

from penstock.sim.transactions.history import Transaction, Write
from penstock.sim.transactions.life import Life
from penstock.sim.transactions.topics import PARTITIONS, SOURCE
from penstock.sim.transactions.verdicts import MustAbort

STEPS_MAX = 3
RECORDS_MAX = 2


class Writer(Life):
    async def turn(self) -> None:
        transaction = self.history.begin(self.session.name)
        try:
            for _ in range(self.client.random.randint(1, STEPS_MAX)):
                await self._write(transaction)
                await self.pause()
                await self.may_fail()
        except MustAbort as why:
            await self.abort(transaction, why)
        else:
            await self.end(transaction)

    async def _write(self, transaction: Transaction) -> None:
        random = self.client.random
        values: dict[int, list[int]] = {}
        for partition in random.sample(range(PARTITIONS), random.randint(1, 2)):
            count = random.randint(1, RECORDS_MAX)
            values[partition] = [self.history.new_value() for _ in range(count)]
            transaction.writes += [Write(SOURCE, partition, value) for value in values[partition]]
        await self.session.write(SOURCE, values)
