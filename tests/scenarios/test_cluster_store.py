"""A metadata store that goes away: leaders without their leases, and whoever takes their place."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cluster_faults import check, kill
from tests.cluster_process import Cluster
from tests.cluster_stores import ways_to_etcd
from tests.cluster_traffic import Traffic
from tests.metadata.etcd_backend import EtcdProcess, url_of
from tests.raw_client import a_batch

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


def test_a_leader_that_is_cut_off_from_brokers_and_store_is_replaced_and_comes_back(
    own_cluster: MakeCluster, etcd: EtcdProcess, topic: str, traffic: MakeTraffic
) -> None:
    cluster = own_cluster(build_way=ways_to_etcd(etcd)).start(3)
    cluster.create(topic, 3)
    sending = traffic(cluster, topic)
    sending.go_on()
    cut, led = (
        cluster[3],
        next(index for index in range(3) if cluster.leader(topic, index) is cluster[3]),
    )
    cluster.isolate(cut)
    sending.go_on()
    cluster.wait(lambda: cluster.leader(topic, led) is not cut, "another one leads")
    with cut.connect() as client:
        late = client.produce(topic, a_batch(b"late"), acks=1, partition=led)
        assert late.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        late = client.produce(topic, a_batch(b"late"), partition=led, timeout_ms=500)
        assert late.error_code != ErrorCode.NONE
    sending.go_on()
    cluster.repair()
    cluster.wait_in_sync(topic, 3)
    sending.go_on()
    check(cluster, sending)
    cluster.check_lines()


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
