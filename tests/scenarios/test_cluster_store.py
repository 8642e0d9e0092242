"""A metadata store that goes away: leaders without their leases, and whoever takes their place."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cluster_process import Cluster
from tests.cluster_roads import run_until_stopped
from tests.cluster_traffic import Traffic
from tests.metadata.etcd_backend import EtcdProcess, Proxy, url_of
from tests.metadata.zookeeper_backend import shared_server
from tests.raw_client import a_batch
from tests.scenarios.test_cluster_faults import SECONDS, check, kill, pause

from penstock.errors import ErrorCode

MakeCluster = Callable[..., Cluster]
MakeTraffic = Callable[..., Traffic]


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[EtcdProcess]:
    folder = tmp_path / "etcd"
    folder.mkdir()
    server = EtcdProcess(folder).start()
    yield server
    server.ensure_running()
    server.kill()


def refuses_acks_1(cluster: Cluster, topic: str) -> bool:
    """Whether its leader does so; it is asked directly."""
    with cluster.leader(topic).connect() as client:
        answer = client.produce(topic, a_batch(b"alone"), acks=1)
        assert answer.error_code in (ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return answer.error_code != ErrorCode.NONE


def test_while_etcd_is_away_only_what_all_in_sync_replicas_have_is_acked(
    own_cluster: MakeCluster, etcd: EtcdProcess, topic: str, traffic: MakeTraffic
) -> None:
    cluster = own_cluster(store=url_of(etcd)).start(3)
    cluster.create(topic)
    cluster.create("other")
    sending = traffic(cluster, topic)
    sending.go_on()
    assert not refuses_acks_1(cluster, "other")
    etcd.kill()
    cluster.wait(lambda: refuses_acks_1(cluster, "other"), "acks=1 is refused")
    sending.go_on()
    follower = cluster.others(cluster.leader(topic))[0]
    follower.pause()
    acked = len(sending.acked)
    time.sleep(1)
    assert len(sending.acked) <= acked + 60, "acked without a replica that is in sync"
    follower.wake()
    sending.go_on()
    etcd.start()
    cluster.wait(lambda: not refuses_acks_1(cluster, "other"), "acks=1 is taken again")
    sending.go_on()
    kill(cluster, cluster.leader(topic), sending)
    cluster.wait_in_sync(topic, 3)
    sending.go_on()
    check(cluster, sending, 1)
    cluster.check_lines()


class StoreRoad(threading.Thread):
    """One broker's way to etcd, in a thread of its own."""

    def __init__(self, server: EtcdProcess) -> None:
        super().__init__(daemon=True)
        self._loop = asyncio.new_event_loop()
        self.proxy = Proxy(server)
        self.start()
        self._call(self.proxy.start())

    def run(self) -> None:
        run_until_stopped(self._loop)

    def cut(self) -> None:
        self._call(self.proxy.cut())

    def repair(self) -> None:
        self._call(self.proxy.start())

    def end(self) -> None:
        self.cut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self.join()

    def _call(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)


def test_a_leader_that_is_cut_off_from_brokers_and_store_is_replaced_and_comes_back(
    own_cluster: MakeCluster, etcd: EtcdProcess, topic: str, traffic: MakeTraffic
) -> None:
    cluster = own_cluster(store=url_of(etcd)).start(2)
    road = StoreRoad(etcd)
    prefix = cluster.store.rpartition("/tests/")[2]
    cut = cluster.add(store=f"etcd://{road.proxy.address}/tests/{prefix}").start()
    cluster.create(topic, 3)
    sending = traffic(cluster, topic)
    sending.go_on()
    led = next(index for index in range(3) if cluster.leader(topic, index) is cut)
    road.cut()
    cluster.isolate(cut)
    sending.go_on()
    cluster.wait(lambda: cluster.leader(topic, led) is not cut, "another one leads")
    with cut.connect() as client:
        late = client.produce(topic, a_batch(b"late"), acks=1, partition=led)
        assert late.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        late = client.produce(topic, a_batch(b"late"), partition=led, timeout_ms=500)
        assert late.error_code != ErrorCode.NONE
    sending.go_on()
    road.repair()
    cluster.repair()
    cluster.wait_in_sync(topic, 3)
    sending.go_on()
    check(cluster, sending)
    cluster.check_lines()
    road.end()


def test_while_the_sqlite_file_is_locked_acks_1_is_refused_and_all_goes_on_afterwards(
    own_cluster: MakeCluster, topic: str, traffic: MakeTraffic
) -> None:
    cluster = own_cluster().start(3)
    cluster.create(topic)
    cluster.create("other")
    sending = traffic(cluster, topic)
    sending.go_on()
    path = cluster.store.removeprefix("sqlite:")
    with sqlite3.connect(path, isolation_level=None) as locked:
        locked.execute("begin immediate")
        cluster.wait(lambda: refuses_acks_1(cluster, "other"), "acks=1 is refused")
        sending.go_on()
        locked.execute("rollback")
    locked.close()
    cluster.wait(lambda: not refuses_acks_1(cluster, "other"), "acks=1 is taken again")
    sending.go_on()
    kill(cluster, cluster.leader(topic), sending)
    cluster.wait_in_sync(topic, 3)
    sending.go_on()
    check(cluster, sending, 1)
    cluster.check_lines()


def test_on_zookeeper_nothing_is_lost_or_doubled_when_a_leader_is_killed(
    own_cluster: MakeCluster, topic: str, traffic: MakeTraffic, tmp_path: Path
) -> None:
    cluster = own_cluster(store=shared_server().url(f"/{tmp_path.name}")).start(3)
    cluster.create(topic, 3)
    sending = traffic(cluster, topic)
    sending.go_on()
    kill(cluster, cluster.leader(topic), sending)
    if SECONDS:
        cluster.wait_in_sync(topic, 3)
        pause(cluster, cluster.leader(topic), sending)
    sending.go_on()
    cluster.wait_in_sync(topic, 3)
    check(cluster, sending)
    cluster.check_lines()
