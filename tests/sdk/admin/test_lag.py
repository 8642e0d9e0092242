"""How far behind a group is, while it reads and while it does not."""

from __future__ import annotations

from collections.abc import Callable

from tests.group_stage import wait_until
from tests.sdk.admin.conftest import fill

from penstock import Admin
from penstock.client.cluster import WireClient
from penstock.testing import Broker, Cluster


def test_lag_goes_with_what_is_read_and_comes_with_what_is_sent(
    penstock_broker: Broker, admin: Admin, orders: str, group: str
) -> None:
    with penstock_broker.consumer(orders, group=group, tune="latency") as consumer:
        read = [consumer.poll(30) for _ in range(5)]
        consumer.commit()
        assert None not in read
        assert admin.groups.lag(group).messages == 3
        for _ in range(3):
            consumer.poll(30)
        consumer.commit()
        lag = admin.groups.lag(group)
        assert (lag.messages, lag.seconds, lag.is_complete) == (0, 0.0, True)
    fill(penstock_broker.bootstrap, orders, 2, 10)
    lag = admin.groups.lag(group)
    assert [each.messages for each in lag.partitions] == [10, 10]
    assert (lag.messages, lag.is_complete) == (20, True)
    assert lag.seconds > 0


def test_a_partition_without_an_offset_is_not_in_the_lag(
    admin: Admin, orders: str, group: str
) -> None:
    admin.groups.set_offsets(group, {(orders, 1): 0})
    lag = admin.groups.lag(group)
    assert [(each.partition, each.messages) for each in lag.partitions] == [(1, 4)]


def test_what_was_dropped_is_not_waited_for(admin: Admin, orders: str, group: str) -> None:
    admin.groups.set_offsets(group, {(orders, 0): 0})
    admin.topics.truncate(orders, 3, [0])
    assert admin.groups.lag(group).messages == 1


def test_an_offset_past_the_end_is_no_lag(admin: Admin, orders: str, group: str) -> None:
    admin.groups.set_offsets(group, {(orders, 0): 1000})
    lag = admin.groups.lag(group)
    assert (lag.messages, lag.partitions[0].committed, lag.partitions[0].end) == (0, 1000, 4)


def test_lag_is_known_whichever_broker_leads_and_not_while_none_does(
    penstock_cluster: Callable[..., Cluster],
) -> None:
    cluster = penstock_cluster(2)
    topic = cluster.topic("orders", 4, replicas=1)
    fill(cluster.bootstrap, topic, 4, 5)
    cluster.admin.groups.set_offsets("readers", {(topic, index): 1 for index in range(4)})
    lag = cluster.admin.groups.lag("readers")
    assert [each.messages for each in lag.partitions] == [4] * 4
    coordinator = cluster.admin.groups.describe("readers").coordinator
    (other,) = (each for each in cluster.brokers if each.node_id != coordinator)
    led = {index for index in range(4) if cluster.leader_of(topic, index) is other}
    assert 0 < len(led) < 4
    other.kill()
    wait_until(lambda: leaderless(cluster, topic) == led, "the loss of its leader")
    lag = cluster.admin.groups.lag("readers")
    assert not lag.is_complete
    assert {each.partition for each in lag.partitions if each.messages is None} == led
    assert lag.messages == 4 * (4 - len(led))


def leaderless(cluster: Cluster, topic: str) -> set[int]:
    with WireClient(cluster.bootstrap) as client:
        found = client.metadata([topic]).topics[topic].partitions
    return {index for index, each in found.items() if each.leader < 0}
