"""A compacted topic on a running broker, seen through an ordinary client."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import confluent_kafka
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tests.broker_process import BrokerProcess

KEYS = 20
ROUNDS = 60
DEADLINE_S = 30
SETTINGS = {
    "cleanup.policy": "compact",
    "segment.bytes": "4096",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "3600000",
}

Message = tuple[int, bytes | None, bytes | None]
"""Offset, key and value."""


def create(address: str, topic: str, **more: str) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    settings = {**SETTINGS, **{name.replace("_", "."): value for name, value in more.items()}}
    admin.create_topics([NewTopic(topic, 1, 1, config=settings)])[topic].result(30)


def produce(address: str, topic: str, values: list[tuple[bytes, bytes | None]]) -> None:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": address, "enable.idempotence": True, "compression.type": "lz4"}
    )
    for key, value in values:
        producer.produce(topic, value, key)
        producer.flush(30)  # a batch of its own, as from a client that sends now and then
    assert not len(producer)


def read_all(address: str, topic: str) -> list[Message]:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "check.crcs": True,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found: list[Message] = []
    while True:
        message = consumer.poll(10)
        assert message is not None
        error = message.error()
        if error is not None:
            assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF
            consumer.close()
            return found
        found.append((message.offset() or 0, message.key(), message.value()))


def read_until(address: str, topic: str, is_done: Callable[[list[Message]], bool]) -> list[Message]:
    deadline = time.monotonic() + DEADLINE_S
    while True:
        found = read_all(address, topic)
        if is_done(found):
            return found
        assert time.monotonic() < deadline, f"{len(found)} records are still there"
        time.sleep(0.1)


def by_key(found: list[Message]) -> dict[bytes | None, tuple[int, bytes | None]]:
    return {key: (offset, value) for offset, key, value in found}


def test_a_compacted_topic_keeps_the_last_value_of_each_key(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    broker = own_broker("--set", "log.cleaner.backoff.ms=50").start()
    create(broker.address, topic)
    values: list[tuple[bytes, bytes | None]] = [
        (b"k%d" % key, b"%d of round %d" % (key, number))
        for number in range(ROUNDS)
        for key in range(KEYS)
    ]
    values += [(b"k0", None), *((b"filler", b"x" * 1000) for _ in range(9))]
    produce(broker.address, topic, values)
    last = {key: (offset, value) for offset, (key, value) in enumerate(values)}

    found = read_until(broker.address, topic, lambda found: len(found) <= KEYS + 9)
    assert all(values[offset] == (key, value) for offset, key, value in found)
    assert by_key(found) == last
    offsets = [offset for offset, _, _ in found]
    assert offsets == sorted(set(offsets))

    broker.kill()
    broker.start()
    again = read_all(broker.address, topic)
    assert set(again) <= set(found)
    assert by_key(again) == last
    produce(broker.address, topic, [(b"k1", b"new")])
    assert read_all(broker.address, topic)[-1] == (len(values), b"k1", b"new")
    assert "Traceback" not in broker.log
    assert broker.stop() == 0
    assert not [path for path in Path(broker.data_dir).rglob("*") if "cleaned" in path.suffix]


def test_a_client_meets_no_errors_where_whole_segments_were_compacted_away(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    """Many at once: a pass that comes often would make one segment of the few since the last."""
    broker = own_broker("--set", "log.cleaner.backoff.ms=1500").start()
    create(broker.address, topic, segment_bytes="2048")
    values: list[tuple[bytes, bytes | None]] = []
    for cleaning in range(2):
        some: list[tuple[bytes, bytes | None]] = [
            (b"k%d" % key, b"%d/%d/%d " % (cleaning, number, key) + b"x" * 200)
            for number in range(40)
            for key in range(10)
        ]
        produce(broker.address, topic, some)  # each time a producer of its own
        values += some
        found = read_until(broker.address, topic, lambda found: len(found) <= 30)
        check_latest(found, values)

    assert broker.stop() == 0
    broker.start()
    check_latest(read_all(broker.address, topic), values)
    broker.kill()
    broker.start()
    check_latest(read_all(broker.address, topic), values)
    assert "Traceback" not in broker.log
    assert broker.stop() == 0


def check_latest(found: list[Message], values: list[tuple[bytes, bytes | None]]) -> None:
    assert all(values[offset] == (key, value) for offset, key, value in found)
    assert by_key(found) == {key: (offset, value) for offset, (key, value) in enumerate(values)}
