"""Sending, against a broker."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.sdk.reading import read

from penstock import Producer
from penstock.client.admin import add_partitions, alter_topic
from penstock.client.cluster import WireClient
from penstock.client.partitioning import murmur2, partition_for_key
from penstock.sdk import DeliveryFailed, Int64, Json, Misconfigured, PenstockError, Sending, raw
from penstock.sdk.routing import Spread
from penstock.testing import Broker

Make = Callable[..., Any]
WAIT_S = 30.0


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)


def test_what_was_sent_is_read(producer: Producer, make_topic: Make, consumer_of: Make) -> None:
    name = make_topic()
    moment = datetime(2024, 2, 29, 12, 30, tzinfo=UTC)
    producer.send(name, "plain")
    producer.send(name, "é", key="k", headers={"h": b"\xff"}, tags={"region": "eu"})
    producer.send(name, None, key=b"\x01", timestamp=moment)
    producer.send(name, "number", key=42, timestamp=1_700_000_000_000)
    assert producer.send(name, "last").result(WAIT_S) == (name, 0, 4)
    found = [consumer.poll(WAIT_S) for consumer in [consumer_of(name)] for _ in range(5)]
    assert [(each.value, each.key) for each in found] == [
        ("plain", None),
        ("é", "k"),
        (None, "\x01"),
        ("number", "42"),
        ("last", None),
    ]
    assert found[1].headers == [("h", b"\xff"), ("region", b"eu")]
    assert found[1].tags == {"region": "eu"}
    assert found[2].timestamp == moment
    assert found[3].timestamp_ms == 1_700_000_000_000
    assert [(each.topic, each.partition, each.offset) for each in found] == [
        (name, 0, offset) for offset in range(5)
    ]
    assert found[0].id is None


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_keys_are_hashed_as_in_java(key: bytes, expected: int) -> None:
    assert murmur2(key) == expected


@pytest.mark.parametrize("partitioner", [None, Spread()], ids=["librdkafka", "ours"])
def test_keys_go_where_java_would_send_them(
    broker: BrokerProcess, make_topic: Make, partitioner: Any
) -> None:
    name = make_topic(7)
    with Producer(broker.address, partitioner=partitioner) as sender:
        sent: dict[Any, Any] = {key: sender.send(name, "v", key=key) for key in map(str, range(50))}
        sent |= {key: sender.send(name, "v", key=key) for key in (b"\x00", b"")}
        sender.flush()
    for key, sending in sent.items():
        data = key.encode() if isinstance(key, str) else key
        if data:
            assert sending.result(WAIT_S).partition == partition_for_key(data, 7)


def test_messages_without_a_key_take_turns() -> None:
    spread = Spread()
    assert {spread(None, 3) for _ in range(1000)} == {0, 1, 2}


def test_an_own_partitioner_decides(broker: BrokerProcess, make_topic: Make) -> None:
    name = make_topic(3)
    with Producer(broker.address, partitioner=lambda key, count: count - 1) as sender:
        assert sender.send(name, "v", key="any").result(WAIT_S).partition == 2
    sender = Producer(broker.address, partitioner=lambda key, count: count)
    with sender, pytest.raises(Misconfigured, match="give 0 to 2"):
        sender.send(name, "v")


def test_a_partition_can_be_named(producer: Producer, make_topic: Make) -> None:
    assert producer.send(make_topic(3), "v", key="k", partition=2).result(WAIT_S).partition == 2


def test_closing_partitions_are_written_to_no_more(broker: BrokerProcess, make_topic: Make) -> None:
    name = make_topic(4)
    keys = [str(number) for number in range(40)]

    def partitions(sender: Producer) -> set[int]:
        sent = [sender.send(name, "v", key=key) for key in keys]
        sent += [sender.send(name, "v") for _ in range(300)]
        return {each.result(WAIT_S).partition for each in sent}

    with Producer(broker.address, tune="latency") as sender, WireClient(broker.address) as client:
        assert partitions(sender) == {0, 1, 2, 3}
        alter_topic(client, name, {"partitions.open": "2"})
        wait_until(lambda: partitions(sender) == {0, 1})
        with Producer(broker.address, tune="latency") as late:
            assert partitions(late) == {0, 1}
            for key in keys:
                where = late.send(name, "v", key=key).result(WAIT_S).partition
                assert where == partition_for_key(key.encode(), 2)
        alter_topic(client, name, {"partitions.open": None})
        wait_until(lambda: partitions(sender) == {0, 1, 2, 3})


@pytest.mark.parametrize("partitioner", [None, Spread()], ids=["librdkafka", "ours"])
def test_new_partitions_are_noticed(
    broker: BrokerProcess, make_topic: Make, partitioner: Any
) -> None:
    name = make_topic(1)
    with Producer(broker.address, tune="latency", partitioner=partitioner) as sender:
        sender.send(name, "v", key="k").result(WAIT_S)
        with WireClient(broker.address) as client:
            add_partitions(client, name, 2)
        numbers = iter(range(1 << 20))
        wait_until(
            lambda: sender.send(name, "v", key=str(next(numbers))).result(WAIT_S).partition == 1
        )


def test_message_ids_are_unique(broker: BrokerProcess, make_topic: Make, consumer_of: Make) -> None:
    name = make_topic()
    for _ in range(2):
        with Producer(broker.address, message_ids=True) as sender:
            for number in range(20):
                sender.send(name, str(number))
    ids = {message.id for message in read(consumer_of(name), 40)}
    assert len(ids) == 40
    assert None not in ids


def test_values_of_other_types(broker: BrokerProcess, make_topic: Make, consumer_of: Make) -> None:
    name = make_topic()
    with Producer(broker.address, serializer=Json(), key_serializer=Int64()) as sender:
        sender.send(name, {"a": 1}, key=258)
    found = consumer_of(name, deserializer=Json(dict[str, int]), key_deserializer=Int64()).poll(30)
    assert (found.value, found.key) == ({"a": 1}, 258)
    assert consumer_of(name, "raw", deserializer=raw, key_deserializer=raw).poll(30).value == (
        b'{"a":1}'
    )


def test_changes_of_partitions_are_followed_after_an_outage_that_nobody_notices(
    penstock_fresh_broker: Broker,
) -> None:
    broker = penstock_fresh_broker
    name = broker.topic("orders", 4)
    with Producer(broker.bootstrap, tune="latency", timeout=1.0) as sender:
        sender.send(name, "v", key="k").result(WAIT_S)
        broker.admin.topics.set_configs(name, {"partitions.open": 2})
        wait_until(lambda: bool(sender.router.changes))
        broker.pause()
        sent = [sender.send(name, "v", key=str(number)) for number in range(40)]
        assert not any(each.is_done for each in sent)
        broker.resume()
        assert {each.result(WAIT_S).partition for each in sent} == {0, 1, 2, 3}
        keys = [str(number) for number in range(40)]
        wait_until(
            lambda: (
                {sender.send(name, "v", key=key).result(WAIT_S).partition for key in keys} == {0, 1}
            )
        )


# What goes wrong.


@pytest.fixture
def too_large(make_topic: Make) -> tuple[str, str]:
    """A topic, and a value that librdkafka takes and the broker does not."""
    return make_topic(max_message_bytes="1000"), "x" * 100_000


def test_a_failure_that_nobody_looks_at_is_raised_by_the_next_call(
    broker: BrokerProcess, too_large: tuple[str, str]
) -> None:
    name, value = too_large
    sender = Producer(broker.address, tune="latency")
    failing = sender.send(name, value, key="k")
    wait_until(lambda: bool(sender.poll(0) or failing.is_done))
    with pytest.raises(
        DeliveryFailed, match=rf"key b'k' to topic {name} .*max.message.bytes"
    ) as it:
        sender.send(name, "fine")
    assert (it.value.topic, it.value.key, it.value.count) == (name, b"k", 1)
    sender.send(name, "fine")
    sender.close()


def test_a_failure_that_nobody_looks_at_is_raised_by_flush_and_by_close(
    broker: BrokerProcess, too_large: tuple[str, str]
) -> None:
    name, value = too_large
    sender = Producer(broker.address, tune="latency", settings={"linger.ms": 100_000})
    sender.send(name, value)
    with pytest.raises(DeliveryFailed, match=name):
        sender.flush()
    sender.flush()
    for _ in range(3):
        sender.send(name, value, partition=0)
    with pytest.raises(DeliveryFailed, match=r"and 2 more") as it:
        sender.close()
    assert it.value.count == 3


def test_a_failure_that_was_looked_at_is_not_raised_again(
    broker: BrokerProcess, too_large: tuple[str, str]
) -> None:
    name, value = too_large
    told: list[Any] = []
    with Producer(broker.address, tune="latency") as sender:
        with pytest.raises(DeliveryFailed):
            sender.send(name, value).result(WAIT_S)
        sender.send(name, value, on_delivery=lambda sending: told.append(sending.exception()))
        sender.flush()
    assert [type(each) for each in told] == [DeliveryFailed]


def test_a_callback_is_told_of_success(producer: Producer, make_topic: Make) -> None:
    told: list[Sending] = []
    producer.send(make_topic(), "v", on_delivery=told.append)
    producer.flush()
    assert [each.result().offset for each in told] == [0]


def test_a_callback_that_fails_stops_nobody_else(
    producer: Producer, make_topic: Make, caplog: pytest.LogCaptureFixture
) -> None:
    name = make_topic()
    first = producer.send(name, "0", on_delivery=_fail)
    wait_until(lambda: bool(producer.poll(0) or first.is_done))
    assert producer.send(name, "1").result(WAIT_S).offset == 1
    producer.flush()
    assert "on_delivery has failed" in caplog.text
    assert "a mistake" in caplog.text


def test_a_callback_that_fails_hides_no_failure(
    broker: BrokerProcess, too_large: tuple[str, str]
) -> None:
    def look_and_fail(sending: Sending) -> None:
        sending.exception()
        _fail(sending)

    for mistaken in (_fail, look_and_fail):
        sender = Producer(broker.address, tune="latency")
        sender.send(*too_large, on_delivery=mistaken)
        with pytest.raises(DeliveryFailed, match="was not delivered"):
            sender.close()


def _fail(_: Sending) -> None:
    raise RuntimeError("a mistake")


def test_what_is_given_up_at_close_has_failed(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    broker = own_broker().start()
    sender = Producer(broker.address)
    sender.send(topic, "0").result(WAIT_S)
    broker.kill()
    sent = [sender.send(topic, str(number), key="k") for number in range(3)]
    with pytest.raises(DeliveryFailed, match=r"and 2 more\) was not delivered.*given up") as it:
        sender.close(0.1)
    assert it.value.count == 3
    assert all(each.is_done for each in sent)


def test_a_producer_is_true_whatever_it_has_to_send(producer: Producer) -> None:
    assert len(producer) == 0
    assert producer


def test_an_exception_of_the_application_is_the_one_that_is_raised(
    broker: BrokerProcess, too_large: tuple[str, str]
) -> None:
    sender = Producer(broker.address, tune="latency")

    def work() -> None:
        with sender:
            sender.send(*too_large)
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError) as it:
        work()
    assert any("was not delivered" in note for note in it.value.__notes__)


def test_a_full_queue_is_waited_for(broker: BrokerProcess, make_topic: Make) -> None:
    name, settings = make_topic(), {"queue.buffering.max.messages": 10}
    with Producer(broker.address, settings=settings) as sender:
        sent = [sender.send(name, str(number)) for number in range(500)]
    assert sorted(each.result(WAIT_S).offset for each in sent) == list(range(500))


def test_a_closed_producer_says_so(broker: BrokerProcess, make_topic: Make) -> None:
    sender = Producer(broker.address)
    sender.close()
    sender.close()
    with pytest.raises(PenstockError, match="closed"):
        sender.send(make_topic(), "v")


def test_at_most_once_does_not_wait_for_the_broker(
    broker: BrokerProcess, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    with Producer(broker.address, delivery="at-most-once") as sender:
        assert sender.send(name, "v").result(WAIT_S).offset == -1
    assert consumer_of(name).poll(WAIT_S).value == "v"
