"""Share groups of librdkafka's share consumers, whose partitions and brokers come and go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import ShareConsumer
from tests.broker_process import BrokerProcess
from tests.cluster_process import Cluster
from tests.group_stage import wait_until
from tests.reduction_stage import penstock, reduce, wait_reduced

MakeBroker = Callable[..., BrokerProcess]
GROUP = "jobs"
WAIT_S = 60
QUICK = ("--set", "log.retention.check.interval.ms=200")


@pytest.fixture
def broker(own_broker: MakeBroker) -> BrokerProcess:
    started = own_broker(*QUICK).start()
    create(started, partitions=2)
    penstock(started.address, "group", "config", GROUP, "--set", "share.auto.offset.reset=earliest")
    return started


@pytest.fixture
def members(broker: BrokerProcess) -> Iterator[Callable[[int], list[Any]]]:
    """Share consumers, which are closed in the end."""
    with ExitStack() as stack:

        def make(count: int) -> list[Any]:
            settings = {"bootstrap.servers": broker.address, "group.id": GROUP}
            made = [stack.enter_context(ShareConsumer(settings)) for _ in range(count)]
            for each in made:
                each.subscribe(["orders"])
            return made

        yield make


def create(broker: BrokerProcess, partitions: int) -> None:
    penstock(broker.address, "topic", "create", "orders", "--partitions", str(partitions))


def produce(
    broker: BrokerProcess | Cluster,
    values: Iterable[int],
    partitions: int = 2,
    topic: str = "orders",
) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.address, "log_level": 0})
    errors: list[Any] = []

    def delivered(error: Any, _: Any) -> None:
        errors.extend([error] if error else [])

    for value in values:
        place = value % partitions
        producer.produce(topic, str(value).encode(), partition=place, on_delivery=delivered)
    assert producer.flush(WAIT_S) == 0
    assert not errors


def consume(members: list[Any], wanted: Iterable[int]) -> list[int]:
    """Until all of these have come, to whichever of them; what has come."""
    left, found = set(wanted), []
    until = time.monotonic() + WAIT_S
    while left:
        assert time.monotonic() < until, f"{len(left)} records did not come"
        for member in members:
            for message in member.poll(timeout=0.1):
                assert not message.error(), message.error()
                found.append(int(message.value()))
                left.discard(found[-1])
    for member in members:
        member.commit_sync()
    return found


def test_every_record_goes_to_one_of_many_members(
    broker: BrokerProcess, members: Callable[[int], list[Any]]
) -> None:
    produce(broker, range(200))
    assert sorted(consume(members(5), range(200))) == list(range(200))
    assert penstock(broker.address, "group", "describe", GROUP)["lag"] == 0


def test_partitions_that_are_added_are_read_from_their_first_record(
    broker: BrokerProcess, members: Callable[[int], list[Any]]
) -> None:
    penstock(broker.address, "group", "config", GROUP, "--unset", "share.auto.offset.reset")
    running = members(1)
    wait_until(lambda: assigned(broker) == 2, "the member has its partitions")
    penstock(broker.address, "topic", "alter", "orders", "--partitions", "3")
    produce(broker, range(2, 20, 3), partitions=3)
    assert sorted(consume(running, range(2, 20, 3))) == list(range(2, 20, 3))


def assigned(broker: BrokerProcess) -> int:
    """Partitions of the group that members have."""
    if GROUP not in {each["group"] for each in penstock(broker.address, "group", "list")}:
        return 0
    rows = penstock(broker.address, "group", "describe", GROUP)["partitions"]
    return sum(bool(each["members"]) for each in rows)


def test_a_group_goes_on_where_it_was_after_its_broker_was_killed(
    broker: BrokerProcess, members: Callable[[int], list[Any]]
) -> None:
    running = members(2)
    produce(broker, range(20))
    consume(running, range(20))
    broker.kill()
    broker.start()
    produce(broker, range(20, 40))
    assert sorted(consume(running, range(20, 40))) == list(range(20, 40))


def test_a_topic_loses_partitions_once_its_share_groups_have_read_them(
    broker: BrokerProcess, members: Callable[[int], list[Any]]
) -> None:
    produce(broker, range(20))
    running = members(2)
    consume(running, range(20))
    produce(broker, range(20, 40))
    reduce(broker.address, "orders", 1)
    assert sorted(consume(running, range(20, 40))) == list(range(20, 40))
    wait_reduced(broker.address, "orders", 1)
    produce(broker, range(40, 50), partitions=1)
    assert sorted(consume(running, range(40, 50))) == list(range(40, 50))


def test_a_group_goes_on_when_its_coordinators_broker_is_killed(
    cluster: Cluster, topic: str
) -> None:
    """Members stay, topics still grow, and shares are set up by whoever looks after the group."""
    group = f"group-of-{topic}"
    cluster.create(topic, 2, replicas=2)
    penstock(cluster.address, "group", "config", group, "--set", "share.auto.offset.reset=earliest")
    settings = {"bootstrap.servers": cluster.address, "group.id": group, "log_level": 0}
    with ShareConsumer(settings) as one, ShareConsumer(settings) as two:
        for member in (one, two):
            member.subscribe([topic])
        produce(cluster, range(20), topic=topic)
        consume([one, two], range(20))
        cluster.coordinator(group).kill()
        produce(cluster, range(20, 40), topic=topic)
        assert set(range(20, 40)) <= set(consume([one, two], range(20, 40)))
        penstock(cluster.address, "topic", "alter", topic, "--partitions", "3")
        cluster.wait_partitions(topic, 3)
        produce(cluster, range(41, 60, 3), partitions=3, topic=topic)
        assert set(range(41, 60, 3)) <= set(consume([one, two], range(41, 60, 3)))
