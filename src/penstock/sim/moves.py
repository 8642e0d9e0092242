"""Replicas on the move, and a broker being drained, while brokers fail."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any

from penstock.sim.admin import Admin
from penstock.sim.cluster import Cluster
from penstock.sim.faults import kills, network_faults, pauses, power_losses, stops
from penstock.sim.workload import PARTITIONS, REPLICAS_MAX, TOPIC

LOOK_S = 0.05


async def reassignment(cluster: Cluster, random: Random) -> None:
    """Every partition gets other replicas, in another order."""
    nodes = [machine.node_id for machine in cluster.machines]
    await asyncio.sleep(random.uniform(0.5, 2))
    plan = {
        (TOPIC, index): random.sample(nodes, min(REPLICAS_MAX, len(nodes)))
        for index in range(PARTITIONS)
    }
    await under_faults(cluster, random, Admin(cluster).move(plan))


async def drain(cluster: Cluster, random: Random) -> None:
    await asyncio.sleep(random.uniform(0.5, 2))
    leaving = random.choice(cluster.machines)
    await under_faults(cluster, random, Admin(cluster).drain(leaving))


async def under_faults(cluster: Cluster, random: Random, work: Coroutine[Any, Any, None]) -> None:
    """Begun together; what is not done when the faults are over is done after them."""
    doing = asyncio.create_task(work)
    await random.choice([kills, power_losses, pauses, stops, network_faults])(cluster, random)
    cluster.heal()
    while not doing.done():
        await asyncio.sleep(LOOK_S)
    doing.result()
