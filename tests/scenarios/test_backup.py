"""The metadata store is lost with all that was in it, and put back from a backup."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka
import pytest
from tests.cli.conftest import run
from tests.cluster_process import Cluster
from tests.cluster_traffic import Traffic, check_exactly_once, read_all
from tests.metadata.etcd_backend import EtcdProcess, url_of

MakeCluster = Callable[..., Cluster]
MakeTraffic = Callable[..., Traffic]
PARTITIONS = 3


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[EtcdProcess]:
    folder = tmp_path / "etcd"
    folder.mkdir()
    server = EtcdProcess(folder).start()
    yield server
    server.kill()


def penstock(*arguments: str) -> None:
    result = run("127.0.0.1:1", *arguments)
    assert result.exit_code == 0, result.output


def commit(cluster: Cluster, topic: str, offset: int) -> None:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": cluster.address, "group.id": "readers", "enable.auto.commit": False}
    )
    place = confluent_kafka.TopicPartition(topic, 0, offset)
    consumer.commit(offsets=[place], asynchronous=False)
    consumer.close()


def committed(cluster: Cluster, topic: str) -> int:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": cluster.address, "group.id": "readers"}
    )
    (found,) = consumer.committed([confluent_kafka.TopicPartition(topic, 0)], 60)
    consumer.close()
    offset: int = found.offset
    return offset


def test_a_lost_store_is_put_back_on_another_kind_and_nothing_acked_is_lost(
    own_cluster: MakeCluster, etcd: EtcdProcess, topic: str, traffic: MakeTraffic, tmp_path: Path
) -> None:
    """The backup is old: broker 3 was in sync when it was made, and is behind when all begin anew
    with it. What was committed since is read all the same."""
    file = str(tmp_path / "cluster.backup")
    cluster = own_cluster().start(3)
    cluster.create(topic, PARTITIONS)
    sending = traffic(cluster, topic)
    sending.go_on()
    commit(cluster, topic, 3)
    penstock("backup", "create", file, "--store", cluster.store)
    cluster[3].kill()
    sending.go_on(300)
    commit(cluster, topic, 5)
    acked = sending.finish()
    cluster[1].kill()
    assert cluster[2].stop() == 0
    for each in cluster.folder.glob("metadata.db*"):
        each.unlink()
    url = url_of(etcd)
    penstock("backup", "restore", file, "--store", url)
    for node_id in (3, 2, 1):
        cluster[node_id].store = url
        cluster[node_id].start()
    cluster.wait_in_sync(topic, 3)
    check_exactly_once(acked, read_all(cluster.address, topic, range(PARTITIONS)))
    assert committed(cluster, topic) == 5
    again = traffic(cluster, topic)
    again.go_on()
    cluster.check_lines()
