"""Members of a group that read what they commit."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from penstock.sim.client import Unreached
from penstock.sim.groups.asking import Behind
from penstock.sim.groups.classic import ClassicMember
from penstock.sim.groups.consumer import ConsumerMember
from penstock.sim.groups.history import GroupHistory
from penstock.sim.groups.member import NOT_IN, Member
from penstock.sim.keyed.fetching import fetch
from penstock.sim.keyed.history import KeyedHistory


class KeyedMember(Member):
    def __init__(self, history: KeyedHistory, *rest: Any) -> None:
        client, group, topic, partitions = rest
        super().__init__(client, GroupHistory(), group, topic, partitions)
        self._keyed = history
        self.leaves: Container[int] = ()
        """Partitions that it does not read for now."""

    async def _turn(self) -> None:
        """All of its partitions in any order, or it would never be at the end of each."""
        await super()._turn()
        for partition in self.client.random.sample(sorted(self._positions), len(self._positions)):
            await self._commit(partition)

    async def beat(self) -> None:
        """Who joins looks first how many partitions there are to share."""
        if self.epoch == NOT_IN:
            self.partitions = await self.client.partition_count(self.topic)
        await super().beat()

    async def read_on(self, partition: int, offset: int) -> int:
        """From a partition that is no more there is nothing to read: the work is shared anew."""
        if partition in self.leaves:
            return offset
        try:
            messages, following, _ = await fetch(self.client, self.topic, partition, offset)
        except Unreached:
            if await self.client.partition_count(self.topic) <= partition:
                raise Behind from None
            raise
        self._keyed.reads += messages
        return following


class KeyedClassic(KeyedMember, ClassicMember):
    pass


class KeyedConsumer(KeyedMember, ConsumerMember):
    pass


KINDS: tuple[type[KeyedMember], ...] = (KeyedClassic, KeyedConsumer)
