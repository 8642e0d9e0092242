"""A topic loses partitions on each of the stores that are servers of their own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.cluster_process import Cluster
from tests.cluster_stores import STORES
from tests.cluster_traffic import Traffic, read_all
from tests.group_stage import wait_until
from tests.lanes import in_chaos
from tests.reduction_stage import Reader, check_failures, create, penstock, reduce, wait_reduced


@in_chaos
@pytest.mark.parametrize("store", ["etcd", "zookeeper"])
def test_a_topic_loses_partitions_and_gets_others_on(
    store: str,
    own_cluster: Callable[..., Cluster],
    traffic: Callable[..., Traffic],
    reader: Callable[..., Reader],
) -> None:
    """All of them are closed for a moment, and those that stay opened again, as 2 does not divide
    5. Then one goes that has taken the place of another."""
    cluster = own_cluster(build_way=STORES[store]()).start(2)
    create(cluster.address, "orders", 5, "--replication-factor", "2")
    sending = traffic(cluster, "orders")
    group = reader(cluster.address, "readers", "orders")
    assert group.has_partitions.wait(60)
    sending.go_on(100)
    reduce(cluster.address, "orders", 2)
    wait_reduced(cluster.address, "orders", 2)
    sending.go_on(100)
    penstock(cluster.address, "topic", "alter", "orders", "--partitions", "3")
    sending.go_on(100)
    reduce(cluster.address, "orders", 1)
    wait_reduced(cluster.address, "orders", 1)
    acked = sending.finish()
    check_failures(sending)
    sealed = {"orders": 1, "orders.sealed-1": 3, "orders.sealed-2": 2}
    found = [
        each
        for topic, count in sealed.items()
        for each in read_all(cluster.address, topic, range(count))
    ]
    assert len(found) == len(acked)
    assert {(each.key, each.number) for each in found} == {(ack.key, ack.number) for ack in acked}
    wait_until(lambda: group.owned == {0}, "the group has what is left")
    for topic in sealed:
        cluster.wait_in_sync(topic, 2)
    cluster.check_lines()
