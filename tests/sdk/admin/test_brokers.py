"""Brokers, as a program looks after them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.sdk.admin.conftest import fill

from penstock import Admin, PenstockError
from penstock.sdk.admin_values import DrainProgress
from penstock.sdk.errors import BrokerNotFound, Misconfigured, TimedOut, Unreachable
from penstock.testing import Broker, Cluster


def test_a_broker_is_listed_with_what_it_holds(
    admin: Admin, penstock_broker: Broker, orders: str
) -> None:
    (found,) = admin.brokers.list()
    assert (found.id, found.port) == (1, penstock_broker.port)
    assert found.is_alive
    assert found.is_controller
    assert not found.is_draining
    assert (found.behind, found.leads) == (0, found.replicas)
    assert found.replicas >= 2
    assert found.data_bytes
    assert found.free_bytes
    assert admin.brokers.describe(1).id == 1


def test_settings_of_brokers_are_set_shown_and_taken_back(admin: Admin) -> None:
    name = "message.max.bytes"
    for node in (1, None):
        admin.brokers.set_configs(node, {name: 2_000_000})
        assert admin.brokers.get_configs(node)[name].value == "2000000"
        admin.brokers.unset_configs(node, name)
        left = admin.brokers.get_configs(node).get(name)
        assert left is None or left.source == "default"


def test_a_broker_that_is_not_there_is_named(admin: Admin) -> None:
    for ask in (
        admin.brokers.describe,
        admin.brokers.get_configs,
        admin.brokers.drain,
        admin.brokers.cancel_drain,
        admin.brokers.remove,
        lambda node: admin.brokers.set_configs(node, {"message.max.bytes": 1000}),
        lambda node: admin.brokers.unset_configs(node, "message.max.bytes"),
    ):
        with pytest.raises(BrokerNotFound, match=r"broker 9.*admin\.brokers\.list"):
            ask(9)


def test_a_broker_with_nowhere_to_go_to_is_not_drained(admin: Admin, orders: str) -> None:
    with pytest.raises(Misconfigured, match="add a broker first"):
        admin.brokers.drain(1)
    assert not admin.brokers.describe(1).is_draining


def test_nobody_at_the_address_is_told_at_once() -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(Unreachable, match="Start one with"):
        admin.topics.list()


def test_an_address_that_is_none_is_told_at_once() -> None:
    with pytest.raises(Misconfigured, match="give HOST:PORT"):
        Admin("nowhere")


def test_an_admin_that_is_closed_says_so(penstock_broker: Broker) -> None:
    admin = Admin(penstock_broker.bootstrap)
    admin.topics.list()
    admin.close()
    admin.close()
    with pytest.raises(PenstockError, match="closed: make another"):
        admin.topics.list()


def test_a_time_that_is_none_is_told_at_once() -> None:
    with pytest.raises(Misconfigured, match="timeout_s=-1"):
        Admin("127.0.0.1:1", timeout_s=-1)


def test_a_broker_that_hangs_is_not_waited_for_for_ever(penstock_fresh_broker: Broker) -> None:
    with Admin(penstock_fresh_broker.bootstrap, timeout_s=0.5) as admin:
        admin.topics.list()
        penstock_fresh_broker.pause()
        with pytest.raises(TimedOut, match=r"timeout_s="):
            admin.topics.create("late")


def test_a_broker_is_drained_with_progress_and_forgotten(
    penstock_cluster: Callable[..., Cluster],
) -> None:
    cluster = penstock_cluster(3)
    topics = [cluster.topic("orders", 4, replicas=2) for _ in range(2)]
    for topic in topics:
        fill(cluster.bootstrap, topic, 4, 50)
    told: list[DrainProgress] = []
    brokers = cluster.admin.brokers
    assert brokers.describe(2).replicas
    with pytest.raises(TimedOut, match=r"call drain\(\) again"):
        brokers.drain(2, at_once=1, timeout_s=0)
    brokers.cancel_drain(2)
    assert not brokers.describe(2).is_draining
    brokers.drain(2, on_progress=told.append)
    assert told[0].partitions_left > 0
    drained = brokers.describe(2)
    assert (drained.replicas, drained.is_draining) == (0, True)
    cluster.brokers[1].stop()
    brokers.remove(2)
    assert [each.id for each in brokers.list()] == [1, 3]
    for topic in topics:
        assert [each.end for each in cluster.admin.topics.describe(topic).partitions] == [50] * 4
