"""A simulated client's way to the brokers: who leads what, and a connection to each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import TypeVar

from penstock.sim.cluster import Cluster
from penstock.sim.exchange import Exchange
from penstock.sim.loop import VirtualLoop
from penstock.sim.network import SimNetwork
from penstock.wire.codec import Message
from penstock.wire.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

M = TypeVar("M", bound=Message)
Address = tuple[str, int]

METADATA_VERSION = 9
ANSWER_S_MAX = 30.0
CONNECT_S_MAX = 5.0
RETRY_S = 0.1


class Unreached(Exception):
    """No answer came, for whatever reason: what was asked may have been done or not."""


class SimClient:
    def __init__(self, cluster: Cluster, name: str) -> None:
        self.loop: VirtualLoop = cluster.loop(name)
        self.name = name
        self.random: Random = cluster.scheduler.chance(name)
        host = f"10.0.1.{len(cluster.loops)}"
        self._network = SimNetwork(cluster.internet, self.loop, host)
        self._bootstrap: Sequence[Address] = cluster.addresses
        self._exchanges: dict[Address, Exchange] = {}
        self._leaders: dict[tuple[str, int], Address] = {}
        self._epochs: dict[tuple[str, int], int] = {}
        self._counts: dict[str, int] = {}

    def note(self, line: str) -> None:
        self.loop.scheduler.note(f"{self.name}: {line}")

    def complain(self, line: str) -> None:
        """Of an answer that must not be: the run has failed."""
        self.loop.scheduler.fail(f"{self.name}: unexpected answer: {line}")

    # Asking

    async def ask_any(self, request: Message, version: int, kind: type[M]) -> M:
        return await self.ask_at(self.random.choice(self._bootstrap), request, version, kind)

    async def ask_at(self, address: Address, request: Message, version: int, kind: type[M]) -> M:
        exchange = await self.exchange(address)
        return await answered(exchange, exchange.ask(request, version, kind))

    async def exchange(self, address: Address) -> Exchange:
        found = self._exchanges.get(address)
        if found is not None and found.is_open:
            return found
        try:
            async with asyncio.timeout(CONNECT_S_MAX):
                connection = await self._network.connect(*address)
        except (OSError, TimeoutError) as problem:
            raise Unreached(str(problem)) from problem
        made = self._exchanges[address] = Exchange(self.loop, connection, self.name)
        return made

    # Leaders

    async def leader(self, topic: str, partition: int) -> Exchange:
        """A connection to the broker that leads a partition, as far as this client knows."""
        if (topic, partition) not in self._leaders:
            await self._learn_leaders(topic)
        address = self._leaders.get((topic, partition))
        if address is None:
            raise Unreached(f"{topic}-{partition} has no leader")
        try:
            return await self.exchange(address)
        except Unreached:
            self.forget_leaders()
            raise

    def leader_epoch(self, topic: str, partition: int) -> int:
        """Of the leader that this client knows."""
        return self._epochs[topic, partition]

    async def partition_count(self, topic: str) -> int:
        """The least that it was ever told, asked anew: a broker may not have heard the latest."""
        await self._learn_leaders(topic)
        if topic not in self._counts:
            raise Unreached(f"{topic} is not known")
        return self._counts[topic]

    def forget_leaders(self) -> None:
        self._leaders.clear()

    async def _learn_leaders(self, topic: str) -> None:
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
        )
        answer = await self.ask_any(request, METADATA_VERSION, MetadataResponse)
        addresses = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
        for found in answer.topics:
            if found.partitions:
                count = len(found.partitions)
                self._counts[topic] = min(count, self._counts.get(topic, count))
            for partition in found.partitions:
                if partition.leader_id in addresses:
                    place = topic, partition.partition_index
                    self._leaders[place] = addresses[partition.leader_id]
                    self._epochs[place] = partition.leader_epoch


async def answered(
    exchange: Exchange, answer: asyncio.Future[M], patience_s: float = ANSWER_S_MAX
) -> M:
    """The answer; a connection that brings none for too long is given up."""
    try:
        async with asyncio.timeout(patience_s):
            return await answer
    except (ConnectionError, TimeoutError) as problem:
        exchange.close()
        raise Unreached(str(problem)) from problem
