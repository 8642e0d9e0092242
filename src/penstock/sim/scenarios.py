"""What is done to a cluster while clients use it. Everything heals in the end.

Each scenario runs where no fault hits it, and draws its moments and choices from the run's seed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from penstock.metadata.backup import kept, restored
from penstock.sim.cluster import Cluster, Machine

Faults = Callable[[Cluster, Random], Awaitable[None]]

LEASE_MS = 2000
ROUNDS = (3, 6)
SKEW_MS_MAX = 1_800_000
"""Less than records may be ahead of their broker's time."""


def _never(_reason: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Scenario:
    faults: Faults
    texts: Mapping[str, str] = field(default_factory=dict)
    may_exit: Callable[[str], bool] = _never
    """Whether a broker may end by itself, by the reason that it gives."""
    has_data_folders: bool = True
    """From before, and synced; else brokers make their own."""
    open_find: str = ""
    """Why some seeds are known to fail; such a scenario is played only when asked for by name."""


async def nothing(cluster: Cluster, random: Random) -> None:
    await asyncio.sleep(random.uniform(2, 10))


async def kills(cluster: Cluster, random: Random) -> None:
    """kill -9, between two callbacks or in the midst of one."""
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(0.05, 3))
        machine = random.choice(cluster.machines)
        await _end(machine, random, power=False)


async def stops(cluster: Cluster, random: Random) -> None:
    """As SIGTERM asks for it; some are killed before they are done."""
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(0.05, 3))
        machine = random.choice(cluster.machines)
        machine.stop()
        if random.random() < 0.4:
            await asyncio.sleep(random.uniform(0, 0.02))
            await _end(machine, random, power=random.random() < 0.5)
        await asyncio.sleep(random.uniform(0.05, 4))
        if random.random() < 0.3:
            await _end(machine, random, power=True)


async def clock_jumps(cluster: Cluster, random: Random) -> None:
    """Wall clocks are set, forwards and back."""
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(0.05, 3))
        machine = random.choice(cluster.machines)
        machine.clock.skew_ms = random.randint(-SKEW_MS_MAX, SKEW_MS_MAX)
        if random.random() < 0.3:
            await _end(machine, random, power=random.random() < 0.5)


async def power_losses(cluster: Cluster, random: Random) -> None:
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(0.05, 3))
        machine = random.choice(cluster.machines)
        await _end(machine, random, power=random.random() < 0.8)


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
        await _end(machine, random, power=random.random() < 0.8)


async def _end(machine: Machine, random: Random, *, power: bool) -> None:
    if random.random() < 0.5:
        machine.end_in_the_middle(random.randint(0, 30), power=power)
    elif power:
        machine.cut_power()
        machine.start_later()
    else:
        machine.kill()
        machine.start_later()


async def pauses(cluster: Cluster, random: Random) -> None:
    """As SIGSTOP does it, mostly for longer than a lease lasts."""
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(0.05, 3))
        machine = random.choice(cluster.machines)
        machine.pause()
        await asyncio.sleep(random.uniform(0.1, 4 * LEASE_MS / 1000))
        if random.random() < 0.3:
            await _end(machine, random, power=False)
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
            await asyncio.sleep(random.uniform(0.1, 5 * LEASE_MS / 1000))
            store.come_back()
        if random.random() < 0.3:
            await _end(random.choice(cluster.machines), random, power=False)


async def restores(cluster: Cluster, random: Random) -> None:
    """The store is lost, and put back from a backup: brokers have led, come and gone since."""
    for _ in range(random.randint(1, 2)):
        await asyncio.sleep(random.uniform(0.05, 2))
        backup = kept(cluster.store.state.list("/")[0])
        await random.choice([kills, stops, power_losses])(cluster, random)
        for machine in cluster.machines:
            if random.random() < 0.5:
                machine.cut_power()
            else:
                machine.kill()
            machine.start_later()
        cluster.replace_store(restored(backup))


async def full_disks(cluster: Cluster, random: Random) -> None:
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(0.05, 3))
        machine = random.choice(cluster.machines)
        machine.storage.fill(leaving=random.choice([0, random.randint(0, 20_000), 3 << 20]))
        await asyncio.sleep(random.uniform(0.1, 5))
        if random.random() < 0.3:
            await _end(machine, random, power=random.random() < 0.5)
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
        await _end(machine, random, power=True)
        await asyncio.sleep(random.uniform(0.05, 2))


async def network_faults(cluster: Cluster, random: Random) -> None:
    internet = cluster.internet
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(0.05, 3))
        internet.is_slow = random.random() < 0.3
        if random.random() < 0.5:
            internet.reset_some()
        hosts = sorted({each.host for each in internet.connections})
        if len(hosts) > 1 and random.random() < 0.7:
            one, other = random.sample(hosts, 2)
            ways, loses = random.random() < 0.5, random.random() < 0.5
            internet.cut(one, other, both_ways=ways, loses=loses)
            await asyncio.sleep(random.uniform(0.1, 25))
            internet.heal()


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


def _store_is_away(reason: str) -> bool:
    """A broker that cannot reach the store at its start says so and ends."""
    return "did not start" in reason and "metadata" in reason


def _disk_is_full(reason: str) -> bool:
    return "No space left" in reason


def _sync_failed(reason: str) -> bool:
    return "Input/output error" in reason


ROOM = {"disk.free.min.bytes": "0"}

SCENARIOS: Mapping[str, Scenario] = {
    "calm": Scenario(nothing),
    "kill": Scenario(kills),
    "stop": Scenario(stops),
    "clock": Scenario(clock_jumps),
    "power": Scenario(power_losses),
    "fresh": Scenario(power_losses, has_data_folders=False),
    "torn": Scenario(torn_writes),
    "pause": Scenario(pauses),
    "store": Scenario(store_faults, may_exit=_store_is_away),
    "restore": Scenario(restores),
    "full": Scenario(full_disks, ROOM, _disk_is_full),
    "sync": Scenario(failing_syncs, may_exit=_sync_failed),
    "device": Scenario(failing_devices, may_exit=_sync_failed),
    "network": Scenario(network_faults),
    "everything": Scenario(
        everything, ROOM, lambda reason: _store_is_away(reason) or _disk_is_full(reason)
    ),
}


def settled() -> list[str]:
    """Scenarios of which every seed must pass."""
    return [name for name, scenario in SCENARIOS.items() if not scenario.open_find]
