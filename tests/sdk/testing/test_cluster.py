"""Clusters for tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.sdk.testing.test_broker import read, send

from penstock.sdk.errors import Misconfigured
from penstock.testing import Cluster

MakeCluster = Callable[..., Cluster]


def test_a_cluster_goes_on_when_a_leader_dies_and_when_the_next_one_hangs(
    penstock_cluster: MakeCluster,
) -> None:
    cluster = penstock_cluster(3)
    topic = cluster.topic("orders", 2, min_insync_replicas=1)
    assert [each.node_id for each in cluster.brokers] == [1, 2, 3]
    send(cluster.bootstrap, topic, "kept")
    first = cluster.leader_of(topic)
    first.kill()
    second = cluster.leader_of(topic)
    assert second is not first
    second.pause()
    third = cluster.leader_of(topic)
    assert third not in (first, second)
    assert read(third.bootstrap, topic) == "kept"
    cluster.mend()
    assert all(each.is_running and not each.is_paused for each in cluster.brokers)
    assert all("Traceback" not in each.logs for each in cluster.brokers)


def test_a_topic_has_a_replica_on_every_broker_unless_said_otherwise(
    penstock_cluster: MakeCluster,
) -> None:
    cluster = penstock_cluster(2, {"num.partitions": 5})
    made = {each.name: each for each in cluster.admin.topics.list()}
    assert made == {}
    wide, narrow = cluster.topic("wide"), cluster.topic("narrow", replicas=1)
    made = {each.name: each for each in cluster.admin.topics.list()}
    assert (made[wide].replicas, made[narrow].replicas) == (2, 1)
    with pytest.raises(Misconfigured):
        cluster.topic("too-wide", replicas=3)
