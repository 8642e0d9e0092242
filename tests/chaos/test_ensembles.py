"""Three brokers at work on three nodes of a store, which are killed one by one.

SECONDS=300, or `make chaos DURATION=300`, goes on killing nodes and brokers for so long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from tests.cluster_faults import SECONDS, kill
from tests.cluster_ordeal import Ordeal
from tests.cluster_process import Cluster
from tests.cluster_traffic import Traffic
from tests.lanes import cases
from tests.metadata import etcd_backend, zookeeper_backend
from tests.metadata.etcd_backend import EtcdProcess
from tests.metadata.zookeeper_backend import ZookeeperServer

PARTITIONS = 3


@dataclass
class Node:
    kill: Callable[[], None]
    start: Callable[[], None]
    """Returns once it answers."""
    leads: Callable[[], bool]


@dataclass
class Ensemble:
    url: str
    nodes: list[Node]


def of_etcd(folder: Path) -> Ensemble:
    def node(server: EtcdProcess) -> Node:
        def start() -> None:
            server.start()

        return Node(server.kill, start, server.leads)

    servers = [EtcdProcess(folder, name) for name in ("one", "two", "three")]
    etcd_backend.ensemble(servers)
    return Ensemble(etcd_backend.url_of(*servers), [node(each) for each in servers])


def of_zookeeper(folder: Path) -> Ensemble:
    def node(server: ZookeeperServer) -> Node:
        def start() -> None:
            server.start()
            server.wait_ready()

        return Node(server.end, start, lambda: server.mode() == "leader")

    servers = zookeeper_backend.ensemble(folder)
    for each in servers:
        each.start()
    for each in servers:
        each.wait_ready()
    hosts = ",".join(each.address for each in servers)
    return Ensemble(f"zookeeper://{hosts}/brokers", [node(each) for each in servers])


ENSEMBLES = {"etcd": of_etcd, "zookeeper": of_zookeeper}


@pytest.fixture(params=cases(ENSEMBLES, ["zookeeper"], ENSEMBLES))
def ensemble(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ensemble]:
    made: Ensemble = request.param(tmp_path)
    yield made
    for node in made.nodes:
        node.kill()


@pytest.mark.timeout(SECONDS + 600)
def test_brokers_lose_nothing_while_the_nodes_of_their_store_are_killed_one_by_one(
    ensemble: Ensemble,
    own_cluster: Callable[..., Cluster],
    traffic: Callable[..., Traffic],
    topic: str,
    tmp_path: Path,
) -> None:
    cluster = own_cluster(store=ensemble.url).start(3)
    cluster.create(topic, PARTITIONS)
    ordeal = Ordeal(cluster, traffic(cluster, topic, per_second=100), PARTITIONS)
    try:
        ordeal.start_group(tmp_path, "consumer")
        for node in one_by_one(ensemble):
            ordeal.meet(f"kill node {ensemble.nodes.index(node)}", partial(lose, node, ordeal))
        ordeal.meet("kill both leaders", partial(lose_leaders, ensemble, ordeal))
        ordeal.check()
    finally:
        ordeal.end()


def one_by_one(ensemble: Ensemble) -> Iterator[Node]:
    """Each once, and again for SECONDS."""
    end = time.monotonic() + SECONDS
    yield from ensemble.nodes
    while time.monotonic() < end:
        yield from ensemble.nodes


def lose(node: Node, ordeal: Ordeal) -> None:
    """The others of the ensemble are enough, also for a change."""
    node.kill()
    ordeal.cluster.create(f"{ordeal.topic}-{time.monotonic_ns()}")
    ordeal.sending.go_on()
    node.start()


def lose_leaders(ensemble: Ensemble, ordeal: Ordeal) -> None:
    """Of the store and of a partition at once: somebody else is elected all the same."""
    node = next(each for each in ensemble.nodes if each.leads())
    node.kill()
    kill(ordeal.cluster, ordeal.cluster.leader(ordeal.topic), ordeal.sending)
    node.start()
    ordeal.cluster.wait_in_sync(ordeal.topic, 3)
