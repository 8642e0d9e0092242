"""Corners in which others have lost data, each brought about step by step.

A step waits until the cluster is where the next one hurts most; how long after that it comes is
drawn from the seed.
"""

from __future__ import annotations

import asyncio
from random import Random

from penstock.metadata.internal_topics import OFFSETS
from penstock.sim.cluster import Cluster
from penstock.sim.machine import Machine
from penstock.sim.workload import LAG_MS, LEASE_MS, PARTITIONS, TOPIC

BEFORE_S = (1.0, 3.0)
"""Until all is under way."""


async def _begin(cluster: Cluster, random: Random) -> Machine:
    """Some partition's leader, once all brokers are in sync."""
    view = cluster.view
    await view.until(lambda: all(each.is_ready for each in cluster.machines), "all brokers")
    await asyncio.sleep(random.uniform(*BEFORE_S))
    index = random.randrange(PARTITIONS)
    await view.until(lambda: view.leader(TOPIC, index) is not None, "a leader")
    leader = view.leader(TOPIC, index)
    assert leader is not None
    return leader


def _others(cluster: Cluster, *but: Machine) -> list[Machine]:
    return [each for each in cluster.machines if each not in but]


async def _leads_nothing(cluster: Cluster, machine: Machine) -> None:
    view = cluster.view
    await view.until(
        lambda: all(each.leader not in (machine.node_id, -1) for each in view.partitions(TOPIC)),
        f"another leader than broker {machine.node_id}",
    )


async def _fail_over(cluster: Cluster, machine: Machine, random: Random) -> None:
    """It ends, and comes back only when others lead."""
    if random.random() < 0.5:
        machine.cut_power()
    else:
        machine.kill()
    await _leads_nothing(cluster, machine)
    machine.start_later()


async def _in_sync(cluster: Cluster, machine: Machine) -> None:
    view = cluster.view
    await view.until(
        lambda: machine.is_ready and view.is_in_sync(machine, TOPIC),
        f"broker {machine.node_id} to be in sync again",
    )


async def _jitter(random: Random, most_s: float = 0.5) -> None:
    await asyncio.sleep(random.random() * most_s)


async def paused_past_lease(cluster: Cluster, random: Random) -> None:
    """A leader is stopped for longer than its lease, others take over, and it wakes up."""
    leader = await _begin(cluster, random)
    leader.pause()
    await _leads_nothing(cluster, leader)
    await _jitter(random, 3)
    leader.resume()
    await _in_sync(cluster, leader)


async def store_away(cluster: Cluster, random: Random) -> None:
    """For a minute. Leaders go on with those that were in sync, and with nobody else."""
    await _begin(cluster, random)
    cluster.store.go_down()
    await asyncio.sleep(random.uniform(5, 25))
    paused = random.choice(cluster.machines)
    paused.pause()
    await asyncio.sleep(random.uniform(1, 2 * LAG_MS / 1000))
    paused.resume()
    await asyncio.sleep(random.uniform(20, 30))
    cluster.store.come_back()
    for machine in cluster.machines:
        await _in_sync(cluster, machine)


async def two_controllers(cluster: Cluster, random: Random) -> None:
    """One loses its lease with work in hand, which may yet be written; another goes on with it."""
    await _begin(cluster, random)
    view = cluster.view
    await view.until(lambda: view.controller() is not None, "a controller")
    controller = view.controller()
    assert controller is not None
    dead = random.choice(_others(cluster, controller))
    dead.kill()
    await view.until(lambda: not view.is_registered(dead), "a lease to end")
    cluster.store.unknown_rate = 1.0
    await _jitter(random, 0.1)
    if random.random() < 0.5:
        controller.pause()
    else:
        cluster.store.cut_off.add(controller.node_id)
    dead.start()
    await asyncio.sleep(0.1)
    cluster.store.unknown_rate = 0.0
    await view.until(lambda: view.controller() not in (None, controller), "another controller")
    await _jitter(random)
    if random.random() < 0.5:
        random.choice(_others(cluster, controller)).end(power=False)
        await _jitter(random, 3)
    controller.resume()
    cluster.store.rejoin()
    await _in_sync(cluster, controller)


async def cut_off_leader(cluster: Cluster, random: Random) -> None:
    """Clients reach it, nobody else does: it may acknowledge nothing that others do not have."""
    leader = await _begin(cluster, random)
    cluster.cut_off(leader)
    await _leads_nothing(cluster, leader)
    await _jitter(random, 3)
    cluster.internet.heal()
    cluster.store.rejoin()
    await _in_sync(cluster, leader)


async def cut_off_coordinator(cluster: Cluster, random: Random) -> None:
    """The same to the broker that looks after the group: its members may still reach it."""
    await _begin(cluster, random)
    view = cluster.view
    await view.until(lambda: view.leader(OFFSETS, 0) is not None, "a coordinator")
    coordinator = view.leader(OFFSETS, 0)
    assert coordinator is not None
    cluster.cut_off(coordinator)
    await view.until(lambda: view.leader(OFFSETS, 0) not in (None, coordinator), "another one")
    await asyncio.sleep(random.uniform(0, 6))
    cluster.internet.heal()
    cluster.store.rejoin()
    await _in_sync(cluster, coordinator)


async def shrinking_isr(cluster: Cluster, random: Random) -> None:
    """A follower falls behind, nobody knows whether it was left out, and then the leader dies."""
    leader = await _begin(cluster, random)
    follower = random.choice(_others(cluster, leader))
    cluster.internet.cut(leader.host, follower.host)
    await asyncio.sleep(LAG_MS / 1000 - 0.5)
    cluster.store.unknown_rate = 1.0
    await asyncio.sleep(random.uniform(1, 3))
    cluster.store.unknown_rate = 0.0
    if random.random() < 0.3:
        cluster.internet.heal()
        await _jitter(random, 1)
    await _fail_over(cluster, leader, random)
    cluster.internet.heal()
    await _in_sync(cluster, follower)


async def all_at_once(cluster: Cluster, random: Random) -> None:
    """Every broker is killed or loses its power, within less than a lease."""
    await _begin(cluster, random)
    power = random.random() < 0.7
    for machine in random.sample(cluster.machines, len(cluster.machines)):
        machine.end(power=power)
        await _jitter(random, random.choice([0.0, 0.01, 1.0]))
    for machine in cluster.machines:
        await _in_sync(cluster, machine)


async def stop_in_a_failure(cluster: Cluster, random: Random) -> None:
    """A broker is told to stop while another one's death has not been noticed, or just has."""
    leader = await _begin(cluster, random)
    stopped, *rest = random.sample(_others(cluster, leader), len(cluster.machines) - 1)
    random.choice([leader, *rest]).end(power=random.random() < 0.5)
    await _jitter(random, 1.5 * LEASE_MS / 1000)
    stopped.stop()
    await _jitter(random, 1)
    if random.random() < 0.5:
        stopped.end(power=True)
    await _jitter(random, 2)


async def stale_watermark(cluster: Cluster, random: Random) -> None:
    """A follower comes back with an old high watermark, and leads before it has a newer one."""
    leader = await _begin(cluster, random)
    follower = random.choice(_others(cluster, leader))
    follower.end(power=random.random() < 0.5)
    await cluster.view.until(lambda: follower.is_ready, "the follower")
    await _jitter(random, 0.3)
    await _fail_over(cluster, leader, random)


async def double_failover(cluster: Cluster, random: Random) -> None:
    """Whoever leads dies as soon as it does, three times, while those before come back."""
    machine = await _begin(cluster, random)
    view = cluster.view
    for _ in range(3):
        await _fail_over(cluster, machine, random)
        await _jitter(random, 0.2)
        machine = view.leader(TOPIC, random.randrange(PARTITIONS)) or machine


async def last_standing(cluster: Cluster, random: Random) -> None:
    """Followers die one by one, the last replica loses its power, and they come back before it."""
    leader = await _begin(cluster, random)
    others = _others(cluster, leader)
    for machine in others:
        machine.kill()
        await _jitter(random, 1.5 * LEASE_MS / 1000)
    await _jitter(random, 2 * LEASE_MS / 1000)
    leader.cut_power()
    for machine in others:
        machine.start()
        await _jitter(random, 2)
    await asyncio.sleep(random.uniform(0, 2 * LEASE_MS / 1000))
    leader.start()


async def replaced(cluster: Cluster, random: Random) -> None:
    """A broker comes back under its id with an empty disk: alone at first, or another one dies."""
    await _begin(cluster, random)
    lost = random.choice(cluster.machines)
    others = _others(cluster, lost)
    lost.replace_disk()
    are_down = random.random() < 0.5
    if are_down:
        for machine in others:
            machine.kill()
    await _jitter(random, 2 * LEASE_MS / 1000)
    lost.start()
    await cluster.view.until(lambda: lost.is_ready, "the new broker")
    await _jitter(random, 0.5)
    for machine in others:
        machine.start()
    if not are_down:
        random.choice(others).end(power=random.random() < 0.5)
    await _in_sync(cluster, lost)


async def full_follower(cluster: Cluster, random: Random) -> None:
    """A follower's disk takes nothing more, so it is left behind; later there is room again."""
    leader = await _begin(cluster, random)
    follower = random.choice(_others(cluster, leader))
    follower.storage.fill(leaving=random.choice([0, 3 << 20]))
    await asyncio.sleep(random.uniform(1, 2 * LAG_MS / 1000))
    if random.random() < 0.5:
        random.choice(_others(cluster, follower)).end(power=random.random() < 0.5)
        await _jitter(random, 2)
    follower.storage.foreign_bytes = 0
    await _in_sync(cluster, follower)
