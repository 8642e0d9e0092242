"""What is wrong is said by an exception that names the cause and the way out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from tests.broker_process import BrokerProcess

from penstock import Admin, Consumer, Producer
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


def test_a_serializer_that_gives_no_bytes(broker: BrokerProcess, make_topic: Make) -> None:
    class Forgetful:
        made: Any = None

        def serialize(self, value: object) -> Any:
            return self.made

    with Producer(broker.address, serializer=Forgetful()) as producer:
        with pytest.raises(NotSerializable, match="returned NoneType and not bytes"):
            producer.send(make_topic(), "v")
        Forgetful.made = "text"
        with pytest.raises(NotSerializable, match="returned str and not bytes"):
            producer.send("topic", "v")


def test_a_partition_that_is_not_there(producer: Producer, make_topic: Make) -> None:
    with pytest.raises(PenstockError, match=r"has no such partition.*give another, or none"):
        producer.send(make_topic(), "v", partition=7).result(30)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"partition": -1}, "partition=-1: give a whole number from 0"),
        ({"partition": "1"}, "partition='1'"),
        ({"partition": True}, "partition=True"),
        ({"partition": 2**40}, "partition=1099511627776"),
        ({"timestamp": 1.5}, "timestamp=1.5"),
        ({"timestamp": -5}, "timestamp=-5"),
        ({"timestamp": 2**70}, "timestamp="),
        ({"headers": {"a": 1}}, "1 is neither text nor bytes"),
        ({"headers": {1: "x"}}, "1 is no text"),
        ({"headers": "abc"}, "headers 'abc'"),
        ({"headers": 5}, "headers 5"),
        ({"tags": {"a": "\ud800"}}, "headers"),
        ({"on_delivery": 5}, "on_delivery=5 cannot be called"),
    ],
)
def test_what_a_message_cannot_have(
    producer: Producer, make_topic: Make, words: Any, expected: str
) -> None:
    with pytest.raises(PenstockError, match=expected):
        producer.send(make_topic(), "v", **words)
    assert len(producer) == 0


@pytest.mark.parametrize("topic", ["", None, 5, b"x"])
def test_what_is_no_name_of_a_topic(producer: Producer, topic: Any) -> None:
    with pytest.raises(Misconfigured, match="is no topic's name"):
        producer.send(topic, "v")


@pytest.mark.parametrize("kind", ["producer", "consumer", "admin"])
@pytest.mark.parametrize("address", ["", "localhost", "127.0.0.1:1,", "a:b", None, ["a:1"], b"a:1"])
def test_what_is_no_address(kind: str, address: Any) -> None:
    make: dict[str, Make] = {
        "producer": Producer,
        "consumer": partial(Consumer, topics="t", group="g"),
        "admin": Admin,
    }
    with pytest.raises(Misconfigured, match=r"is no (broker's )?address: give .?HOST:PORT"):
        make[kind](address)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"timeout": -1}, "timeout=-1 is no time"),
        ({"timeout": None}, "timeout=None is no time"),
        ({"timeout": float("nan")}, "timeout=nan is no time"),
        ({"partitioner": 5}, "partitioner=5 cannot be called"),
        ({"serializer": None}, r"has no serialize\(\)"),
        ({"serializer": Json}, r"has no serialize\(\): give an object"),
        ({"settings": "x"}, "settings='x': give a dict"),
        (
            {"delivery": "exactly-once", "transactional_id": b"w"},
            "transactional_id=b'w': give text",
        ),
        ({"delivery": "exactly-once", "transactional_id": 3}, "transactional_id=3: give text"),
        ({"settings": {"delivery.report.only.error": True}}, "delivery.report.only.error=false"),
    ],
)
def test_what_a_producer_cannot_be(words: Any, expected: str) -> None:
    with pytest.raises(Misconfigured, match=expected):
        Producer(NOWHERE, **words)


@pytest.mark.parametrize("choice", [None, "0", 99, -1])
def test_a_partitioner_that_chooses_no_partition(
    broker: BrokerProcess, make_topic: Make, choice: Any
) -> None:
    producer = Producer(broker.address, partitioner=lambda key, count: choice)
    with producer, pytest.raises(Misconfigured, match=f"has chosen {choice!r} .*give 0 to 0"):
        producer.send(make_topic(), "v")


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
