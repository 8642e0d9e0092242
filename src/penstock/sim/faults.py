"""Faults at moments that are drawn from the run's seed, one after the other, of one kind or of all.

Each runs where no fault hits it. Whatever is still broken in the end is healed afterwards.
"""

from __future__ import annotations

import asyncio
from random import Random

from penstock.metadata.backup import kept, restored
from penstock.metadata.store import Entry
from penstock.sim.cluster import Cluster
from penstock.sim.machine import Machine
from penstock.sim.network import RESET_AFTER_S
from penstock.sim.workload import LEASE_MS
from penstock.sim.world import SimChance

ROUNDS = (3, 6)
SKEW_MS_MAX = 1_800_000
"""Less than records may be ahead of their broker's time."""


def _mostly_short_s(random: Random, longest_s: float) -> float:
    """Long faults take the time of many short ones, and show little more."""
    return random.uniform(0.1, longest_s if random.random() < 0.15 else longest_s / 5)


async def nothing(cluster: Cluster, random: Random) -> None:
    await asyncio.sleep(random.uniform(2, 10))


async def kills(cluster: Cluster, random: Random) -> None:
    """kill -9, between two callbacks or in the midst of one."""
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(0.05, 3))
        machine = random.choice(cluster.machines)
        _end(machine, random, power=False)


async def stops(cluster: Cluster, random: Random) -> None:
    """As SIGTERM asks for it; some are killed before they are done."""
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(0.05, 3))
        machine = random.choice(cluster.machines)
        machine.stop()
        if random.random() < 0.4:
            await asyncio.sleep(random.uniform(0, 0.02))
            _end(machine, random, power=random.random() < 0.5)
        await asyncio.sleep(random.uniform(0.05, 4))
        if random.random() < 0.3:
            _end(machine, random, power=True)


async def clock_jumps(cluster: Cluster, random: Random) -> None:
    """Wall clocks are set, forwards and back."""
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(0.05, 3))
        machine = random.choice(cluster.machines)
        machine.clock.skew_ms = random.randint(-SKEW_MS_MAX, SKEW_MS_MAX)
        if random.random() < 0.3:
            _end(machine, random, power=random.random() < 0.5)


async def power_losses(cluster: Cluster, random: Random) -> None:
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(0.05, 3))
        machine = random.choice(cluster.machines)
        _end(machine, random, power=random.random() < 0.8)


async def torn_writes(cluster: Cluster, random: Random) -> None:
    """Power losses on disks that write what they hold in any order, and hold much."""
    for machine in cluster.machines:
        machine.storage.loses_in_order = False
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(0.05, 3))
        machine = random.choice(cluster.machines)
        if machine.process is not None:
            machine.process.disk.is_slow = True
        await asyncio.sleep(random.uniform(0.05, 1))
        _end(machine, random, power=random.random() < 0.8)


def _end(machine: Machine, random: Random, *, power: bool) -> None:
    if random.random() < 0.5:
        machine.end_in_the_middle(random.randint(0, 30), power=power)
    else:
        machine.end(power=power)


async def pauses(cluster: Cluster, random: Random) -> None:
    """As SIGSTOP does it, mostly for longer than a lease lasts."""
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(0.05, 3))
        machine = random.choice(cluster.machines)
        machine.pause()
        await asyncio.sleep(random.uniform(0.1, 2.5 * LEASE_MS / 1000))
        if random.random() < 0.3:
            _end(machine, random, power=False)
        machine.resume()


async def store_faults(cluster: Cluster, random: Random) -> None:
    store = cluster.store
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(0.05, 3))
        store.unknown_rate = random.choice([0.0, 0.3])
        store.watch_lag_s = random.choice([0.0, 2.0])
        store.is_slow = random.random() < 0.3
        if random.random() < 0.3:
            store.forget()
        if random.random() < 0.7:
            store.go_down()
            await asyncio.sleep(_mostly_short_s(random, 5 * LEASE_MS / 1000))
            store.come_back()
        if random.random() < 0.3:
            _end(random.choice(cluster.machines), random, power=False)


async def restores(cluster: Cluster, random: Random) -> None:
    """The store is lost, and put back from a backup: brokers have led, come and gone since. Some
    backups are put back again, and by a clock that has been set back."""
    backup: list[Entry] = []
    for _ in range(random.randint(1, 3)):
        await asyncio.sleep(random.uniform(0.05, 2))
        if not backup or random.random() < 0.5:
            backup = kept(cluster.store.state.list("/")[0])
        await random.choice([kills, stops, power_losses])(cluster, random)
        for machine in cluster.machines:
            if random.random() < 0.5:
                machine.cut_power()
            else:
                machine.kill()
            machine.start_later()
        clock = random.choice(cluster.machines).clock
        clock.skew_ms = random.randint(-SKEW_MS_MAX, SKEW_MS_MAX)
        cluster.replace_store(restored(backup, clock.now_ms(), SimChance(random)))


async def full_disks(cluster: Cluster, random: Random) -> None:
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(0.05, 3))
        machine = random.choice(cluster.machines)
        machine.storage.fill(leaving=random.choice([0, random.randint(0, 20_000), 3 << 20]))
        await asyncio.sleep(random.uniform(0.1, 5))
        if random.random() < 0.3:
            _end(machine, random, power=random.random() < 0.5)
            await asyncio.sleep(random.uniform(0.1, 5))
        machine.storage.foreign_bytes = 0


async def failing_syncs(cluster: Cluster, random: Random) -> None:
    """A broker whose device has failed ends, and the next one starts with what is there."""
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(0.05, 4))
        machine = random.choice(cluster.machines)
        if machine.process is not None:
            machine.process.disk.sync_fails = True


async def failing_devices(cluster: Cluster, random: Random) -> None:
    """The same, and later the power goes: what the failed syncs have lost is gone for good."""
    for _ in range(random.randint(*ROUNDS)):
        machine = random.choice(cluster.machines)
        if machine.process is not None:
            machine.process.disk.sync_fails = True
        await asyncio.sleep(random.uniform(1, 8))
        _end(machine, random, power=True)
        await asyncio.sleep(random.uniform(0.05, 2))


async def network_faults(cluster: Cluster, random: Random) -> None:
    internet = cluster.internet
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(0.05, 3))
        internet.is_slow = random.random() < 0.3
        if random.random() < 0.5:
            internet.reset_some()
        if random.random() < 0.7:
            _cut_some(cluster, random)
            await asyncio.sleep(_mostly_short_s(random, RESET_AFTER_S + 5))
            internet.heal()
            cluster.store.rejoin()


def _cut_some(cluster: Cluster, random: Random) -> None:
    """A broker from all others, or any two hosts from each other."""
    if random.random() < 0.3:
        cluster.cut_off(random.choice(cluster.machines))
        return
    brokers = [machine.host for machine in cluster.machines]
    hosts = sorted({each.host for each in cluster.internet.connections})
    among = brokers if len(brokers) > 1 and random.random() < 0.5 else hosts
    if len(among) > 1:
        one, other = random.sample(among, 2)
        ways, loses = random.random() < 0.5, random.random() < 0.5
        cluster.internet.cut(one, other, both_ways=ways, loses=loses)


async def everything(cluster: Cluster, random: Random) -> None:
    several = [
        kills,
        stops,
        power_losses,
        pauses,
        clock_jumps,
        store_faults,
        full_disks,
        network_faults,
    ]
    chosen = random.sample(several, 3)
    await asyncio.gather(*(faults(cluster, random) for faults in chosen))
