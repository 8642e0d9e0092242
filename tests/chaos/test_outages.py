"""A metadata store that goes away, under load: leaders without their leases, and what they may do.

SECONDS=300, or `make chaos DURATION=300`, keeps it away for a minute.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cluster_faults import SECONDS, check, kill
from tests.cluster_process import Cluster
from tests.cluster_traffic import Traffic
from tests.lanes import cases
from tests.metadata.etcd_backend import EtcdProcess, url_of
from tests.metadata.zookeeper_backend import ZookeeperServer, require_server
from tests.raw_client import a_batch

from penstock.errors import ErrorCode

AWAY_S = 60 if SECONDS else 0
"""At least; without SECONDS as long as it takes for all leases to end."""


@dataclass
class Store:
    url: str
    go_away: Callable[[], object]
    come_back: Callable[[], object]


@contextmanager
def of_sqlite(folder: Path) -> Iterator[Store]:
    """A file that somebody has locked."""
    path = folder / "metadata.db"
    locked = sqlite3.connect(path, isolation_level=None)
    yield Store(
        f"sqlite:{path}",
        lambda: locked.execute("begin immediate"),
        lambda: locked.execute("rollback"),
    )
    locked.close()


@contextmanager
def of_etcd(folder: Path) -> Iterator[Store]:
    server = EtcdProcess(folder).start()
    yield Store(url_of(server), server.kill, server.start)
    server.kill()


@contextmanager
def of_zookeeper(folder: Path) -> Iterator[Store]:
    require_server()
    server = ZookeeperServer(folder)
    server.start()
    server.wait_ready()
    yield Store(server.url("/brokers"), server.end, server.start)
    server.end()


STORES = {"sqlite": of_sqlite, "etcd": of_etcd, "zookeeper": of_zookeeper}


@pytest.fixture(params=cases(STORES, ["zookeeper"], STORES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    folder = tmp_path / "store"
    folder.mkdir()
    with request.param(folder) as made:
        yield made


@pytest.mark.timeout(300)
def test_while_the_store_is_away_only_what_all_in_sync_replicas_have_is_acked(
    store: Store,
    own_cluster: Callable[..., Cluster],
    topic: str,
    traffic: Callable[..., Traffic],
) -> None:
    cluster = own_cluster(store=store.url).start(3)
    cluster.create(topic)
    cluster.create("other")
    sending = traffic(cluster, topic)
    sending.go_on()
    assert not refuses_acks_1(cluster, "other")
    store.go_away()
    back_s = time.monotonic() + AWAY_S
    cluster.wait(lambda: refuses_acks_1(cluster, "other"), "acks=1 is refused")
    check_nothing_is_acked_without_a_follower(cluster, sending)
    while time.monotonic() < back_s:
        sending.go_on()
        assert refuses_acks_1(cluster, "other")
    store.come_back()
    cluster.wait(lambda: not refuses_acks_1(cluster, "other"), "acks=1 is taken again")
    sending.go_on()
    kill(cluster, cluster.leader(topic), sending)
    cluster.wait_in_sync(topic, 3)
    sending.go_on()
    check(cluster, sending, 1)
    cluster.check_lines()


def refuses_acks_1(cluster: Cluster, topic: str) -> bool:
    """Whether its leader does so; it is asked directly."""
    with cluster.leader(topic).connect() as client:
        answer = client.produce(topic, a_batch(b"alone"), acks=1)
        assert answer.error_code in (ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return answer.error_code != ErrorCode.NONE


def check_nothing_is_acked_without_a_follower(cluster: Cluster, sending: Traffic) -> None:
    """All replicas that were in sync must have it: nobody can be left out without the store."""
    sending.go_on()
    follower = cluster.others(cluster.leader(sending.topic))[0]
    follower.pause()
    first = sending.sent
    time.sleep(1)
    early = [ack for ack in sending.acked if ack.turn >= first]
    assert not early, f"acked without a replica that is in sync: {early[:5]}"
    follower.wake()
    sending.go_on()
