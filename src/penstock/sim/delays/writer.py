"""Sends messages for later within transactions, of which many are aborted."""

from __future__ import annotations

from penstock.sim.cluster import Cluster
from penstock.sim.delays.history import PARTITIONS, TOPIC, DelayHistory
from penstock.sim.delays.producer import headers_of, some_due_ms
from penstock.sim.transactions.habits import Habits
from penstock.sim.transactions.history import Write
from penstock.sim.transactions.life import Life
from penstock.sim.transactions.verdicts import MustAbort
from penstock.wire.records import Headers

RECORDS_MAX = 2


class DelayedWriter(Life):
    def __init__(
        self, cluster: Cluster, history: DelayHistory, habits: Habits, who: str, number: int
    ) -> None:
        super().__init__(cluster, history.transactions, habits, who, number)
        self._dues = history.dues

    async def turn(self) -> None:
        transaction = self.history.begin(self.session.name)
        random = self.client.random
        values: dict[int, list[int]] = {}
        for partition in random.sample(range(PARTITIONS), random.randint(1, PARTITIONS)):
            count = random.randint(1, RECORDS_MAX)
            values[partition] = [self.history.new_value() for _ in range(count)]
            transaction.writes += [Write(TOPIC, partition, value) for value in values[partition]]
        try:
            await self.session.write(TOPIC, values, self._headers)
            await self.pause()
            await self.may_fail()
        except MustAbort as why:
            await self.abort(transaction, why)
        else:
            await self.end(transaction)

    def _headers(self, value: int) -> Headers:
        due_ms = some_due_ms(self.client)
        if due_ms is not None:
            self._dues[value] = due_ms
        return headers_of(due_ms)
