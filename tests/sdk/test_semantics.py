"""What is promised, as settings."""

from __future__ import annotations

from typing import Any

import confluent_kafka
import pytest

from penstock import Consumer, Producer
from penstock.sdk import Misconfigured, semantics
from penstock.sdk.connecting import consumer_settings, producer_settings
from penstock.sdk.semantics import Delivery, Protocol, Tune

NOWHERE = "127.0.0.1:1"


@pytest.mark.parametrize(
    ("delivery", "acks", "idempotent"),
    [("at-least-once", "all", True), ("at-most-once", 0, False), ("exactly-once", "all", True)],
)
def test_each_promise_is_kept_by_acks_and_idempotence(
    delivery: str, acks: object, idempotent: bool
) -> None:
    name = "me" if delivery == "exactly-once" else None
    made = producer_settings(NOWHERE, Delivery(delivery), "latency", name, {})
    assert made["acks"] == acks
    assert made["enable.idempotence"] is idempotent
    assert made.get("retries") == (0 if delivery == "at-most-once" else None)
    assert made.get("transactional.id") == name


@pytest.mark.parametrize("delivery", Delivery)
def test_no_consumer_commits_behind_our_back(delivery: Delivery) -> None:
    made = consumer_settings(
        NOWHERE, "g", delivery, Tune.LATENCY, Protocol.CONSUMER, "earliest", {}
    )
    assert made["enable.auto.commit"] is False
    assert made["check.crcs"] is True
    assert (made.get("isolation.level") == "read_committed") == (delivery == "exactly-once")


def test_a_setting_of_librdkafka_wins() -> None:
    given = {"linger.ms": 5, "queue.buffering.max.messages": 10}
    made = producer_settings(NOWHERE, Delivery.AT_LEAST_ONCE, "throughput", None, given)
    assert made["linger.ms"] == 5
    assert made["queue.buffering.max.messages"] == 10


@pytest.mark.parametrize("given", [{"acks": "1"}, {"request.required.acks": 1}])
def test_a_setting_that_contradicts_the_promise_is_refused_and_both_are_named(
    given: dict[str, Any],
) -> None:
    with pytest.raises(Misconfigured, match=r'acks.*delivery="at-least-once" needs acks=all'):
        Producer(NOWHERE, settings=given)


@pytest.mark.parametrize("acks", ["all", -1, "-1"])
def test_a_setting_that_says_the_same_is_taken(acks: object) -> None:
    Producer(NOWHERE, settings={"acks": acks}).close()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"delivery": "twice"}, 'delivery=.twice.*"at-least-once", "at-most-once", "exactly-once"'),
        ({"tune": "both"}, 'tune=.*"throughput", "latency"'),
        ({"delivery": "exactly-once"}, "needs transactional_id="),
        ({"transactional_id": "me"}, "has no use for transactional_id="),
        ({"settings": {"no.such": 1}}, "no.such"),
        ({"settings": {"bootstrap.servers": "x"}}, "the first argument"),
        ({"settings": {"linger.ms": "soon"}}, "Invalid value"),
    ],
)
def test_a_producer_that_cannot_be_is_refused_at_once(words: Any, expected: str) -> None:
    with pytest.raises(Misconfigured, match=expected):
        Producer(NOWHERE, **words)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"start": "soon"}, "start='soon'"),
        ({"protocol": "new"}, '"consumer", "classic"'),
        ({"settings": {"enable.auto.commit": True}}, "enable.auto.commit"),
        ({"settings": {"group.id": "x"}}, "group="),
    ],
)
def test_a_consumer_that_cannot_be_is_refused_at_once(words: Any, expected: str) -> None:
    with pytest.raises(Misconfigured, match=expected):
        Consumer(NOWHERE, "topic", group="g", **words)


def test_a_consumer_needs_a_topic_and_a_group() -> None:
    with pytest.raises(Misconfigured, match="no topic"):
        Consumer(NOWHERE, [], group="g")
    with pytest.raises(Misconfigured, match="group= is empty"):
        Consumer(NOWHERE, "topic", group="")


def test_librdkafka_knows_every_setting_in_the_tables() -> None:
    for table in (semantics.PRODUCER, semantics.PRODUCER_TUNE, semantics.PATIENCE):
        for rows in table.values():
            given = {row.name: row.value for row in (*semantics.ALWAYS_PRODUCER, *rows)}
            confluent_kafka.Producer(given)
    for tables in (semantics.CONSUMER, semantics.CONSUMER_TUNE):
        for rows in tables.values():
            given = {row.name: row.value for row in (*semantics.ALWAYS_CONSUMER, *rows)}
            confluent_kafka.Consumer({"group.id": "g", **given}).close()
