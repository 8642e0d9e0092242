"""Leaders that fail just when something is due."""

from __future__ import annotations

import asyncio
from random import Random

from penstock.sim.cluster import Cluster
from penstock.sim.delays.history import PARTITIONS, TOPIC
from penstock.sim.delays.producer import GRAIN_MS
from penstock.sim.workload import LEASE_MS

TIMES = (3, 6)
BETWEEN_S = (0.5, 3.0)
"""So that something is sent."""


async def when_due(cluster: Cluster, random: Random) -> None:
    """Its copies may be appended and not committed, or committed and not known to be; others take
    over, and it comes back."""
    view = cluster.view
    for _ in range(random.randint(*TIMES)):
        await asyncio.sleep(random.uniform(*BETWEEN_S))
        index = random.randrange(PARTITIONS)
        await view.until(lambda: view.leader(TOPIC, index) is not None, "a leader")  # noqa: B023
        grain_s = GRAIN_MS / 1000
        left_s = grain_s - cluster.scheduler.now_s % grain_s
        await asyncio.sleep(max(0.0, left_s + random.uniform(-0.25, 0.25)))
        machine = view.leader(TOPIC, index)
        if machine is None or not machine.is_ready:
            continue
        what = random.choice(["kill", "power", "pause", "cut off"])
        if what in ("kill", "power"):
            machine.end(power=what == "power")
            continue
        if what == "pause":
            machine.pause()
        else:
            cluster.cut_off(machine)
        await asyncio.sleep(random.uniform(0.1, 2 * LEASE_MS / 1000))
        cluster.heal()
