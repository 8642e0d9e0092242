"""A member that the group has given up hears that its partitions are lost."""

from __future__ import annotations

import pytest
from tests.group_stage import wait_until

from penstock import Consumer, Producer
from penstock.sdk import TopicPartition
from penstock.sdk.semantics import ProtocolWord
from penstock.testing import Broker


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_who_was_given_up_hears_of_its_loss_and_joins_again(
    penstock_broker: Broker, protocol: ProtocolWord
) -> None:
    topic = penstock_broker.topic("orders", 2)
    group = f"{topic}-{protocol}"
    penstock_broker.admin.groups.set_configs(
        group, {"consumer.session.timeout.ms": 500, "consumer.heartbeat.interval.ms": 100}
    )
    places = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    told: list[tuple[str, list[TopicPartition]]] = []
    settings = {"max.poll.interval.ms": 300}
    if protocol == "classic":
        settings |= {"session.timeout.ms": 250, "heartbeat.interval.ms": 50}
    consumer = Consumer(
        penstock_broker.bootstrap,
        topic,
        group=group,
        protocol=protocol,
        tune="latency",
        settings=settings,
        on_assign=lambda given: told.append(("assigned", sorted(given))),
        on_revoke=lambda given: told.append(("revoked", sorted(given))),
        on_lost=lambda given: told.append(("lost", sorted(given))),
    )
    with consumer:
        wait_until(lambda: consumer.poll(0.05) or told, "an assignment")
        wait_until(lambda: not members(penstock_broker, group), "its removal")
        wait_until(lambda: consumer.poll(0.05) or told[2:], "another assignment")
    assert told[:3] == [("assigned", places), ("lost", places), ("assigned", places)]


def test_what_is_lost_and_ours_again_is_in_a_batch_once(penstock_broker: Broker) -> None:
    """It is read again from what is committed; what was read before is not handed out."""
    topic = penstock_broker.topic("orders", 2)
    with Producer(penstock_broker.bootstrap) as producer:
        for number in range(20):
            producer.send(topic, str(number), partition=number % 2)
    lost: list[TopicPartition] = []
    consumer = Consumer(
        penstock_broker.bootstrap,
        topic,
        group=topic,
        protocol="classic",
        delivery="exactly-once",
        settings={
            "max.poll.interval.ms": 300,
            "session.timeout.ms": 250,
            "heartbeat.interval.ms": 50,
        },
        on_lost=lost.extend,
    )
    with consumer:
        wait_until(lambda: len(consumer.gather(20, 0.1)) == 20, "all messages in one batch")
        consumer.buffer.put_back()
        wait_until(lambda: not members(penstock_broker, topic), "its removal")
        batch = consumer.gather(1000, 0.2)
        while len(batch) < 20 or not lost:
            consumer.buffer.put_back()
            batch = consumer.gather(1000, 0.2)
    assert sorted(int(message.value) for message in batch) == list(range(20))


def members(broker: Broker, group: str) -> int:
    return len(broker.admin.groups.members(group))
