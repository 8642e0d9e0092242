"""Corners of transactions, each brought about in the moment that hurts.

What is to be seen stands in the memory of brokers: it is looked for there, and then something
fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from penstock.api.broker import Broker
from penstock.coordination.transaction.state import Transactions
from penstock.errors import Refused
from penstock.sim.cluster import Cluster
from penstock.sim.connection import SimConnection
from penstock.sim.machine import PORT, Machine
from penstock.sim.transactions.topics import GROUP, PARTITIONS, SOURCE

ROUNDS = (2, 4)
LOOK_S = 0.001
WAIT_S_MAX = 5.0
BEFORE_S = (0.3, 1.5)
OUT_S = (0.5, 4.0)
HELD_UP_S = (5.2, 9.0)
"""Longer than a coordinator waits for an answer: it asks again over another connection."""

Look = Callable[[Broker], bool]


def _has_prepared(broker: Broker) -> bool:
    shard = broker.transactions.shards.get(0)
    return shard is not None and isinstance(shard.kept, Transactions) and bool(shard.kept.prepared)


def _has_open(broker: Broker) -> bool:
    return any(_is_open_in(broker, index) for index in range(PARTITIONS))


def _is_open_in(broker: Broker, index: int) -> bool:
    try:
        return bool(broker.leader(SOURCE, index).log.producers.open_transactions())
    except Refused:
        return False


def _has_pending(broker: Broker) -> bool:
    shard = broker.groups.shards.get(0)
    group = None if shard is None else shard.kept.get(GROUP)
    return group is not None and group.pending is not None


async def _moment(cluster: Cluster, look: Look) -> Machine | None:
    """The broker of which it is true, as soon as it is; None if that takes too long."""
    last_s = cluster.scheduler.now_s + WAIT_S_MAX
    while cluster.scheduler.now_s < last_s:
        for machine in cluster.machines:
            if _is_so(machine, look):
                return machine
        await asyncio.sleep(LOOK_S)
    return None


def _is_so(machine: Machine, look: Look) -> bool:
    if not machine.is_ready or machine.process is None or machine.process.node is None:
        return False
    return look(machine.process.node.broker)


async def _fail(cluster: Cluster, machine: Machine, random: Random) -> None:
    """In one of the ways in which a broker is not there for others."""
    way = random.choice(["kill", "power", "pause", "cut off"])
    cluster.scheduler.note(f"broker {machine.node_id} in the moment: {way}")
    if way in ("kill", "power"):
        machine.end(power=way == "power")
        return
    if way == "pause":
        machine.pause()
    else:
        cluster.cut_off(machine)
    await asyncio.sleep(random.uniform(*OUT_S))
    machine.resume()
    cluster.internet.heal()
    cluster.store.rejoin()


async def _fail_when(cluster: Cluster, random: Random, look: Look) -> None:
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(*BEFORE_S))
        machine = await _moment(cluster, look)
        if machine is not None:
            await asyncio.sleep(random.choice([0.0, 0.002, 0.02]) * random.random())
            await _fail(cluster, machine, random)


async def prepared(cluster: Cluster, random: Random) -> None:
    """The coordinator fails between the decision how a transaction ends and its markers."""
    await _fail_when(cluster, random, _has_prepared)


async def open_in_partition(cluster: Cluster, random: Random) -> None:
    """A leader fails with a transaction open in its partition."""
    await _fail_when(cluster, random, _has_open)


async def pending_offsets(cluster: Cluster, random: Random) -> None:
    """A group's coordinator fails while it holds offsets for a transaction."""
    await _fail_when(cluster, random, _has_pending)


async def late_markers(cluster: Cluster, random: Random) -> None:
    """What the coordinator sends to leaders is held up, over the connections that it has now."""
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(*BEFORE_S))
        machine = await _moment(cluster, _has_prepared)
        for each in list(cluster.internet.connections):
            if machine is not None and each.host == machine.host and _is_to_broker(cluster, each):
                each.hold_up(random.uniform(*HELD_UP_S))
        await asyncio.sleep(max(HELD_UP_S))


def _is_to_broker(cluster: Cluster, connection: SimConnection) -> bool:
    return any(connection.peer == f"{machine.host}:{PORT}" for machine in cluster.machines)
