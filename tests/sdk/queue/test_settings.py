"""What a queue is made of, and what its settings do."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock import Consumer, Producer, Queue
from penstock.client.admin import alter_group, group_configs
from penstock.client.cluster import WireClient
from penstock.sdk import Empty, Misconfigured
from penstock.testing import Broker

WAIT_S = 30.0

Make = Callable[..., Queue[Any]]


def of_group(broker: Broker, group: str) -> dict[str, str | None]:
    with WireClient(broker.bootstrap) as client:
        found = group_configs(client, group)
    return {name: each.value for name, each in found.items() if each.source == "group"}


def test_all_that_is_given_is_set_and_the_rest_stays(penstock_broker: Broker, name: str) -> None:
    Queue.ensure(penstock_broker.bootstrap, name, lock=20, max_deliveries=3, dead_letters=True)
    wanted = {
        "share.auto.offset.reset": "earliest",
        "share.isolation.level": "read_committed",
        "share.record.lock.duration.ms": "20000",
        "share.delivery.count.limit": "3",
        "errors.deadletterqueue.topic.name": f"dlq.{name}",
        "errors.deadletterqueue.copy.record.enable": "true",
    }
    assert of_group(penstock_broker, name) == wanted
    Queue.ensure(penstock_broker.bootstrap, name, max_deliveries=4)
    assert of_group(penstock_broker, name) == {**wanted, "share.delivery.count.limit": "4"}
    letters = penstock_broker.admin.topics.get_configs(f"dlq.{name}")
    assert letters["errors.deadletterqueue.group.enable"].value == "true"


def test_where_a_group_begins_stays_as_somebody_has_set_it(
    penstock_broker: Broker, make: Make, name: str
) -> None:
    with WireClient(penstock_broker.bootstrap) as client:
        alter_group(client, name, {"share.auto.offset.reset": "latest"})
    queue = make()
    queue.put("before")
    with pytest.raises(Empty):
        make().get(1.0)
    assert of_group(penstock_broker, name)["share.auto.offset.reset"] == "latest"


def test_a_worker_gets_what_is_committed_and_nothing_that_was_aborted(
    penstock_broker: Broker, make: Make, name: str
) -> None:
    queue = make()
    queue.put("before")
    assert queue.get(WAIT_S).value == "before"
    writer = Producer(penstock_broker.bootstrap, delivery="exactly-once", transactional_id=name)
    with writer:
        with writer.transaction() as given_up:
            writer.send(name, "aborted").result(WAIT_S)
            given_up.abort()
        with writer.transaction():
            writer.send(name, "committed").result(WAIT_S)
            with pytest.raises(Empty):
                queue.get(0.6)
    assert queue.get(WAIT_S).value == "committed"


def test_how_a_group_reads_stays_as_somebody_has_set_it(penstock_broker: Broker, name: str) -> None:
    with WireClient(penstock_broker.bootstrap) as client:
        alter_group(client, name, {"share.isolation.level": "read_uncommitted"})
    Queue.ensure(penstock_broker.bootstrap, name)
    assert of_group(penstock_broker, name)["share.isolation.level"] == "read_uncommitted"


def test_what_was_given_out_too_often_goes_to_the_dead_letters(
    penstock_broker: Broker, make: Make, name: str
) -> None:
    Queue.ensure(penstock_broker.bootstrap, name, max_deliveries=2, dead_letters=True)
    queue = make()
    queue.put("bad", key="k")
    for _ in range(2):
        queue.get(WAIT_S).nack()
    queue.put("rejected")
    queue.get(WAIT_S).reject()
    letters = Consumer(
        penstock_broker.bootstrap, f"dlq.{name}", group=f"{name}-letters", idle_timeout=WAIT_S
    )
    with letters:
        found = []
        for letter in letters:
            found.append((letter.value, letter.tags["__dlq.errors.group"]))
            if len(found) == 2:
                break
    assert found == [("bad", name), ("rejected", name)]
    with pytest.raises(Empty):
        queue.get(0.6)


def test_what_was_acknowledged_goes_away(penstock_broker: Broker, make: Make, name: str) -> None:
    Queue.ensure(penstock_broker.bootstrap, name, delete_on_ack=True)
    queue = make()
    queue.put_many([str(number) for number in range(10)])
    for _ in range(10):
        queue.get(WAIT_S).ack()
    deadline = time.monotonic() + WAIT_S
    while penstock_broker.admin.topics.describe(name).partitions[0].start != 10:
        assert time.monotonic() < deadline, "it stays"
        time.sleep(0.05)


def test_a_delay_on_a_topic_that_knows_none_is_said(make: Make) -> None:
    with pytest.raises(Misconfigured, match=r"delayed\.delivery=true.*delays=True"):
        make().put("later", delay=60)


def test_what_is_put_with_a_delay_waits(penstock_broker: Broker, make: Make, name: str) -> None:
    Queue.ensure(penstock_broker.bootstrap, name, delays=True)
    queue = make()
    queue.put("much later", delay=3600)
    queue.put("later still", deliver_at=datetime.now(UTC) + timedelta(hours=2))
    queue.put("soon", delay=timedelta(milliseconds=1))
    assert queue.get(WAIT_S).value == "soon"
    queue.put("now")
    assert queue.get(WAIT_S).value == "now"
    with pytest.raises(Empty):
        queue.get(0.6)


@pytest.mark.parametrize("given", [{"lock": -1}, {"max_deliveries": 0}, {"lock": 1e9}])
def test_settings_that_cannot_be_are_said(
    penstock_broker: Broker, name: str, given: dict[str, Any]
) -> None:
    with pytest.raises(Misconfigured):
        Queue.ensure(penstock_broker.bootstrap, name, **given)
