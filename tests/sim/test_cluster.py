"""Simulated machines run the real broker, and it is theirs alone: no fault leaks to another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from penstock.sim.client import SimClient, Unreached
from penstock.sim.cluster import Cluster
from penstock.sim.machine import PORT, Machine
from penstock.sim.scheduler import Failed, Scheduler
from penstock.wire.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse

Play = Callable[[Cluster], Awaitable[None]]
TEXTS = {"broker.session.timeout.ms": "2000"}


def played(play: Play, brokers: int = 1, seed: int = 1) -> None:
    cluster = Cluster(Scheduler(seed), brokers, TEXTS)

    async def whole() -> None:
        cluster.start()
        await ready(cluster)
        await play(cluster)

    try:
        task = cluster.director.create_task(whole())
        cluster.scheduler.run(task.done, 200)
        task.result()
    finally:
        cluster.close()


async def ready(cluster: Cluster) -> None:
    while not all(machine.is_ready for machine in cluster.machines):
        await asyncio.sleep(0.05)


async def is_served(cluster: Cluster, at: Machine | None = None) -> bool:
    """Whether a client gets an answer within a second, from one broker or from any."""
    client = SimClient(cluster, "client")
    address = (at.host, PORT) if at else cluster.addresses[0]
    asking = client.loop.create_task(
        client.ask_at(address, ApiVersionsRequest("sim", "1"), 3, ApiVersionsResponse)
    )
    await asyncio.sleep(1)
    if not asking.done():
        client.loop.kill()
        return False
    return not isinstance(asking.exception(), Unreached)


def test_several_brokers_run_beside_each_other() -> None:
    async def play(cluster: Cluster) -> None:
        nodes = [machine.process.node for machine in cluster.machines if machine.process]
        while {len(node.image.brokers) for node in nodes if node} != {3}:
            await asyncio.sleep(0.1)

    played(play, brokers=3)


def test_a_killed_broker_serves_nobody_until_it_is_started_again() -> None:
    async def play(cluster: Cluster) -> None:
        machine = cluster.machines[0]
        assert await is_served(cluster)
        machine.kill()
        assert not await is_served(cluster)
        machine.start()
        await ready(cluster)
        assert await is_served(cluster)
        assert machine.starts == 2

    played(play)


def test_a_paused_broker_loses_its_lease_and_comes_back() -> None:
    async def play(cluster: Cluster) -> None:
        machine = cluster.machines[0]
        process = machine.process
        assert process is not None
        assert process.node is not None
        before = process.node.session
        machine.pause()
        assert not await is_served(cluster)
        await asyncio.sleep(5)
        machine.resume()
        await asyncio.sleep(5)
        assert before.lost
        assert not process.node.session.lost
        assert await is_served(cluster)

    played(play)


def test_a_broker_that_is_told_to_stop_stops_cleanly_and_is_started_again() -> None:
    async def play(cluster: Cluster) -> None:
        machine = cluster.machines[0]
        machine.stop()
        await asyncio.sleep(0.1)
        while not machine.is_ready:
            await asyncio.sleep(0.1)
        assert machine.process is not None
        assert machine.process.node is not None
        assert machine.starts == 2
        assert machine.process.node.log_dir.was_clean

    played(play)


def test_a_broker_that_ends_for_no_good_reason_fails_the_run() -> None:
    async def play(cluster: Cluster) -> None:
        process = cluster.machines[0].process
        assert process is not None
        assert process.node is not None
        process.node._fail("no reason")
        await asyncio.sleep(1)

    with pytest.raises(Failed, match="no reason"):
        played(play)


def test_a_broker_that_is_cut_off_loses_its_lease_while_clients_reach_it() -> None:
    async def play(cluster: Cluster) -> None:
        machine, view = cluster.machines[0], cluster.view
        cluster.cut_off(machine)
        await view.until(lambda: not view.is_registered(machine), "its lease to end")
        assert all(view.is_registered(each) for each in cluster.machines[1:])
        assert await is_served(cluster, at=machine)
        cluster.internet.heal()
        cluster.store.rejoin()
        await view.until(lambda: view.is_registered(machine), "it to come back")

    played(play, brokers=3)


def test_a_disk_that_was_replaced_has_nothing_of_the_old_one() -> None:
    async def play(cluster: Cluster) -> None:
        machine = cluster.machines[0]
        before = machine.storage.find("/data/meta.properties")
        machine.replace_disk()
        assert before is not None
        assert machine.storage.find("/data/meta.properties") is None
        assert not machine.is_ready

    played(play)


def test_what_never_comes_to_be_fails_the_run() -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.view.until(lambda: False, "a miracle")

    with pytest.raises(Failed, match="in vain for a miracle"):
        played(play)
