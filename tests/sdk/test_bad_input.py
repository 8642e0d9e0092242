"""What is wrong is said by an exception that names the cause and the way out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from tests.broker_process import BrokerProcess

from penstock import Consumer, Producer
from penstock.sdk import (
    DeliveryFailed,
    Json,
    Misconfigured,
    NotSerializable,
    PenstockError,
    TopicNotFound,
    Unreachable,
    raw,
)

Make = Callable[..., Any]
NOWHERE = "127.0.0.1:1"


def test_a_broker_that_is_not_there() -> None:
    with pytest.raises(Unreachable, match=r"at 127.0.0.1:1: .*is a broker running there"):
        Producer(NOWHERE, timeout=0.5).send("topic", "v")
    consumer = Consumer(NOWHERE, "topic", group="g", timeout=0.5)
    with consumer, pytest.raises(Unreachable, match="penstock serve"):
        consumer.poll(0)


def test_a_topic_that_does_not_exist(own_broker: Callable[..., BrokerProcess]) -> None:
    broker = own_broker("--set", "auto.create.topics.enable=false").start()
    producer = Producer(broker.address)
    with producer, pytest.raises(TopicNotFound, match=r"topic nothing: .*penstock topic create"):
        producer.send("nothing", "v")
    consumer = Consumer(broker.address, "nothing", group="g")
    with consumer, pytest.raises(TopicNotFound, match="nothing"):
        next(iter(consumer))


@pytest.mark.parametrize(
    ("serializer", "value", "named"),
    [
        (Json(), object(), "object"),
        (raw, "text", "str"),
        (None, 1.5, "float"),
        (None, "\ud800", ""),
    ],
)
def test_a_value_that_does_not_serialize(
    broker: BrokerProcess, make_topic: Make, serializer: Any, value: Any, named: str
) -> None:
    name = make_topic()
    options = {"serializer": serializer} if serializer else {}
    with Producer(broker.address, **options) as producer:
        with pytest.raises(NotSerializable, match=rf"{name}.*{named}"):
            producer.send(name, value)
        assert len(producer) == 0


def test_a_partition_that_is_not_there(producer: Producer, make_topic: Make) -> None:
    with pytest.raises(PenstockError, match="partition"):
        producer.send(make_topic(), "v", partition=7).result(30)


def test_a_message_that_is_too_large_for_librdkafka(producer: Producer, make_topic: Make) -> None:
    with pytest.raises(DeliveryFailed, match=r"message\.max\.bytes"):
        producer.send(make_topic(), "x" * 2_000_000)


def test_a_time_without_a_zone(producer: Producer, make_topic: Make, consumer_of: Make) -> None:
    naive = datetime(2024, 1, 1)
    with pytest.raises(Misconfigured, match="time zone"):
        producer.send(make_topic(), "v", timestamp=naive)
    with pytest.raises(Misconfigured, match="time zone"):
        consumer_of("topic", start=naive)


def test_transactions_without_the_promise(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    with pytest.raises(Misconfigured, match='delivery="exactly-once"'):
        producer.transaction()
    with pytest.raises(Misconfigured, match='delivery="exactly-once"'):
        consumer_of(make_topic()).transactions(producer)


def test_offsets_of_an_exactly_once_consumer_are_not_committed_by_hand(
    make_topic: Make, consumer_of: Make
) -> None:
    consumer = consumer_of(make_topic(), delivery="exactly-once")
    with pytest.raises(Misconfigured, match="send_offsets"):
        consumer.commit()
    with pytest.raises(Misconfigured, match="transactions"):
        consumer.process(print)
