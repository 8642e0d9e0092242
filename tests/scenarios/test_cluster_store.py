"""A broker without its metadata store: what it may not do, and who takes its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cluster_faults import check
from tests.cluster_process import Cluster
from tests.cluster_stores import ways_to_etcd
from tests.cluster_traffic import Traffic
from tests.metadata.etcd_backend import EtcdProcess
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


def test_a_leader_that_is_cut_off_from_brokers_and_store_is_replaced_and_comes_back(
    own_cluster: MakeCluster, etcd: EtcdProcess, topic: str, traffic: MakeTraffic
) -> None:
    cluster = own_cluster(build_way=ways_to_etcd(etcd)).start(3)
    cluster.create(topic, 3)
    sending = traffic(cluster, topic)
    sending.go_on()
    cut = cluster[3]
    led = next(index for index in range(3) if cluster.leader(topic, index) is cut)
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
