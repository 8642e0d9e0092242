"""What applications on kafka-python do with a broker."""

from __future__ import annotations

import gc
import logging
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.broker_process import BrokerProcess

with warnings.catch_warnings():  # it reads its schemas by a call that Python 3.11 deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.admin
    import kafka.errors
    from kafka import TopicPartition

WAIT_S = 30
OLD_MS = 1_700_000_000_000
CREATE_TIME, LOG_APPEND_TIME = 0, 1
STEADY = {"reconnect_backoff_max_ms": 100, "retry_backoff_ms": 50}
RESTARTS = pytest.mark.parametrize("end", [BrokerProcess.stop, BrokerProcess.kill])

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*_text is deprecated:DeprecationWarning",  # its schemas, as above
)


@contextmanager
def administering(broker: BrokerProcess) -> Iterator[Any]:
    admin = kafka.admin.KafkaAdminClient(bootstrap_servers=broker.address)
    try:
        yield admin
    finally:
        admin.close()


def create(broker: BrokerProcess, topic: str, partitions: int = 1, **settings: str) -> None:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    with administering(broker) as admin:
        admin.create_topics([kafka.admin.NewTopic(topic, partitions, 1, topic_configs=named)])


@contextmanager
def producing(broker: BrokerProcess, **settings: Any) -> Iterator[Any]:
    producer = kafka.KafkaProducer(bootstrap_servers=broker.address, **settings)
    try:
        yield producer
    finally:
        producer.close()


def send(broker: BrokerProcess, topic: str, values: list[bytes], **settings: Any) -> list[int]:
    """In one batch, in partition 0; the offsets they got."""
    with producing(broker, linger_ms=20, **settings) as producer:
        sent = [producer.send(topic, value, partition=0) for value in values]
        return [future.get(WAIT_S).offset for future in sent]


@contextmanager
def consuming(
    broker: BrokerProcess, places: dict[TopicPartition, int], **settings: Any
) -> Iterator[Any]:
    """A consumer at these offsets."""
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=broker.address,
        fetch_max_wait_ms=settings.pop("fetch_max_wait_ms", 50),
        allow_auto_create_topics=False,
        **settings,
    )
    try:
        consumer.assign(list(places))
        for place, offset in places.items():
            consumer.seek(place, offset)
        yield consumer
    finally:
        consumer.close()


def take(consumer: Any, count: int) -> list[Any]:
    """The next records; no more than these may come."""
    found: list[Any] = []
    deadline_s = time.monotonic() + WAIT_S
    while len(found) < count:
        assert time.monotonic() < deadline_s, f"only {len(found)} of {count} came"
        polled = consumer.poll(timeout_ms=1000, max_records=count - len(found))
        for records in polled.values():
            found += records
    return found


def values(records: list[Any]) -> list[bytes]:
    return [record.value for record in records]


def numbers(first: int, last: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, last)]


@pytest.mark.parametrize(
    "settings",
    [
        {"acks": 0, "enable_idempotence": False},
        {"acks": 1, "enable_idempotence": False},
        {"acks": "all", "enable_idempotence": False},
        {"acks": "all", "enable_idempotence": True},
    ],
    ids=["acks 0", "acks 1", "acks all", "idempotent"],
)
def test_every_kind_of_acknowledgement_delivers(
    broker: BrokerProcess, topic: str, settings: dict[str, Any]
) -> None:
    create(broker, topic)
    offsets = send(broker, topic, numbers(0, 50), **settings)
    if settings["acks"] != 0:
        assert offsets == list(range(50))
    with consuming(broker, {TopicPartition(topic, 0): 0}) as consumer:
        assert values(take(consumer, 50)) == numbers(0, 50)


def test_all_that_a_record_may_carry_comes_back(broker: BrokerProcess, topic: str) -> None:
    headers = [("twice", b"1"), ("twice", b"2"), ("empty", b""), ("é", b"\xff")]
    records: list[dict[str, Any]] = [
        {"key": b"key", "value": b"value", "headers": headers, "timestamp_ms": OLD_MS},
        {"key": None, "value": b"no key", "timestamp_ms": OLD_MS + 5},
        {"key": b"tombstone", "value": None, "timestamp_ms": OLD_MS + 3},
        {"key": b"", "value": b"", "timestamp_ms": OLD_MS + 4},
    ]
    with producing(broker) as producer:
        sent = [producer.send(topic, partition=0, **record) for record in records]
        assert [future.get(WAIT_S).offset for future in sent] == [0, 1, 2, 3]
    with consuming(broker, {TopicPartition(topic, 0): 0}) as consumer:
        found = take(consumer, 4)
    assert [(each.key, each.value, each.timestamp) for each in found] == [
        (record["key"], record["value"], record["timestamp_ms"]) for record in records
    ]
    assert [list(each.headers) for each in found] == [headers, [], [], []]
    assert {each.timestamp_type for each in found} == {CREATE_TIME}


def test_several_partitions_are_written_and_read_at_once(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic, 4)
    with producing(broker) as producer:
        sent = [producer.send(topic, b"%d" % n, partition=n % 4) for n in range(400)]
        places = sorted((got.partition, got.offset) for got in (f.get(WAIT_S) for f in sent))
    assert places == [(p, offset) for p in range(4) for offset in range(100)]
    with consuming(broker, {TopicPartition(topic, p): 0 for p in range(4)}) as consumer:
        found = take(consumer, 400)
    for partition in range(4):
        read = [int(each.value) for each in found if each.partition == partition]
        assert read == list(range(partition, 400, 4))


def test_the_largest_message_goes_through_and_a_larger_one_is_refused(
    broker: BrokerProcess, topic: str
) -> None:
    # Refused once, an idempotent producer of theirs gives up for good.
    settings = {"max_request_size": 4_000_000, "batch_size": 1, "enable_idempotence": False}
    with producing(broker, **settings) as producer:
        assert producer.send(topic, b"x" * 1_048_500).get(WAIT_S).offset == 0
        with pytest.raises(kafka.errors.MessageSizeTooLargeError):
            producer.send(topic, b"x" * 1_048_588).get(WAIT_S)
        assert producer.send(topic, b"x" * 10).get(WAIT_S).offset == 1
    with consuming(broker, {TopicPartition(topic, 0): 0}) as consumer:
        assert [len(value) for value in values(take(consumer, 2))] == [1_048_500, 10]


def test_a_timestamp_far_in_the_future_is_refused(broker: BrokerProcess, topic: str) -> None:
    with producing(broker) as producer, pytest.raises(kafka.errors.InvalidTimestampError):
        producer.send(topic, b"a", timestamp_ms=9_000_000_000_000).get(WAIT_S)


def test_a_consumer_starts_where_it_is_told_and_seeks(broker: BrokerProcess, topic: str) -> None:
    send(broker, topic, numbers(0, 100))
    place = TopicPartition(topic, 0)
    with consuming(broker, {place: 0}) as consumer:
        assert values(take(consumer, 3)) == numbers(0, 3)
        for offset in (60, 7, 99, 0, 50):
            consumer.seek(place, offset)
            assert values(take(consumer, 1)) == [b"%d" % offset], "from the middle of the batch"
            assert consumer.position(place) == offset + 1
        consumer.seek_to_beginning(place)
        assert values(take(consumer, 100)) == numbers(0, 100)
        consumer.seek_to_end(place)
        assert consumer.position(place) == 100
        send(broker, topic, [b"new"])
        assert values(take(consumer, 1)) == [b"new"]


def test_a_paused_partition_is_silent_until_it_is_resumed(
    broker: BrokerProcess, topic: str
) -> None:
    create(broker, topic, 2)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with consuming(broker, {first: 0, second: 0}) as consumer, producing(broker) as producer:
        consumer.pause(first)
        for number in range(20):
            producer.send(topic, b"%d" % number, partition=number % 2).get(WAIT_S)
        assert {record.partition for record in take(consumer, 10)} == {1}
        consumer.resume(first)
        assert {record.partition for record in take(consumer, 10)} == {0}


def test_times_have_offsets_and_partitions_have_ends(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic, 2)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with producing(broker, linger_ms=20) as producer:
        for number in range(10):
            producer.send(topic, b"x", partition=0, timestamp_ms=OLD_MS + 10 * number)
        producer.flush(WAIT_S)
    with consuming(broker, {}) as consumer:

        def offset_at(timestamp: int) -> int | None:
            found = consumer.offsets_for_times({first: timestamp})[first]
            return None if found is None else int(found.offset)

        times = (0, OLD_MS, OLD_MS + 1, OLD_MS + 50, OLD_MS + 90, OLD_MS + 91)
        assert [offset_at(each) for each in times] == [0, 0, 1, 5, 9, None]
        assert consumer.beginning_offsets([first, second]) == {first: 0, second: 0}
        assert consumer.end_offsets([first, second]) == {first: 10, second: 0}


def test_the_broker_sets_the_time_where_the_topic_says_so(
    broker: BrokerProcess, topic: str
) -> None:
    create(broker, topic, message_timestamp_type="LogAppendTime")
    with producing(broker) as producer:
        told = producer.send(topic, b"x", timestamp_ms=OLD_MS).get(WAIT_S)
    with consuming(broker, {TopicPartition(topic, 0): 0}) as consumer:
        (found,) = take(consumer, 1)
    assert found.timestamp_type == LOG_APPEND_TIME
    assert found.timestamp == told.timestamp > OLD_MS


def test_a_consumer_that_waits_gets_what_is_produced_later(
    broker: BrokerProcess, topic: str
) -> None:
    create(broker, topic)
    places = {TopicPartition(topic, 0): 0}
    patient = {"fetch_max_wait_ms": 2 * WAIT_S * 1000, "request_timeout_ms": 4 * WAIT_S * 1000}
    with consuming(broker, places, **patient) as consumer:
        assert consumer.poll(timeout_ms=200) == {}
        for value in numbers(0, 5):
            send(broker, topic, [value])
            assert values(take(consumer, 1)) == [value]


@pytest.mark.parametrize("sessions", [True, False], ids=["incremental", "whole"])
def test_news_of_some_of_many_partitions_arrive(
    broker: BrokerProcess, topic: str, sessions: bool
) -> None:
    create(broker, topic, 12)
    places = {TopicPartition(topic, p): 0 for p in range(12)}
    with (
        consuming(broker, places, enable_incremental_fetch_sessions=sessions) as consumer,
        producing(broker) as producer,
    ):
        for turn in range(20):
            chosen = {turn % 12, turn * 5 % 12}
            for partition in chosen:
                producer.send(topic, b"%d" % turn, partition=partition)
            producer.flush(WAIT_S)
            found = take(consumer, len(chosen))
            assert {record.partition for record in found} == chosen
            assert set(values(found)) == {b"%d" % turn}


def test_a_session_goes_on_as_its_partitions_change(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic, 6)
    with consuming(broker, {}) as consumer, producing(broker) as producer:
        for turn in range(12):
            chosen = {turn % 6, (turn + 1) % 6, (turn + 3) % 6}
            consumer.assign([TopicPartition(topic, partition) for partition in chosen])
            consumer.seek_to_end()
            for partition in chosen:
                consumer.position(TopicPartition(topic, partition))
            for partition in range(6):
                producer.send(topic, b"%d" % turn, partition=partition)
            producer.flush(WAIT_S)
            found = take(consumer, 3)
            assert {record.partition for record in found} == chosen
            assert set(values(found)) == {b"%d" % turn}


def test_a_session_keeps_what_a_client_does_not_name_again(
    broker: BrokerProcess, topic: str
) -> None:
    create(broker, topic, 6)
    places = {TopicPartition(topic, p): 0 for p in range(6)}
    with consuming(broker, places) as consumer, producing(broker) as producer:
        for turn in range(18):
            paused = TopicPartition(topic, turn % 6)
            consumer.pause(paused)  # so the client has the session forget it
            for partition in ((turn + 1) % 6, (turn + 3) % 6):
                producer.send(topic, b"%d" % turn, partition=partition).get(WAIT_S)
                (found,) = take(consumer, 1)
                assert (found.partition, found.value) == (partition, b"%d" % turn)
            consumer.resume(paused)


def test_a_topic_is_made_by_producing_and_listed(broker: BrokerProcess, topic: str) -> None:
    with consuming(broker, {}) as consumer:
        assert topic not in consumer.topics()
        assert not consumer.partitions_for_topic(topic)
        assert topic not in consumer.topics(), "consuming makes none"
        assert send(broker, topic, [b"a"]) == [0]
        assert topic in consumer.topics()
        assert consumer.partitions_for_topic(topic) == {0}


def test_a_running_producer_finds_new_partitions(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic)
    with producing(broker, metadata_max_age_ms=50) as producer:

        def partitions_hit() -> set[int]:
            sent = [producer.send(topic, b"x", b"%d" % number) for number in range(50)]
            return {future.get(WAIT_S).partition for future in sent}

        assert partitions_hit() == {0}
        with administering(broker) as admin:
            admin.create_partitions({topic: kafka.admin.NewPartitions(3)})
        deadline_s = time.monotonic() + WAIT_S
        while partitions_hit() != {0, 1, 2}:
            assert time.monotonic() < deadline_s


def test_a_consumer_outlives_the_deletion_of_one_of_its_topics(
    broker: BrokerProcess, topic: str
) -> None:
    kept = topic + "-kept"
    for name in (topic, kept):
        send(broker, name, [b"a"])
    places = {TopicPartition(topic, 0): 0, TopicPartition(kept, 0): 0}
    with consuming(broker, places) as consumer:
        assert {record.topic for record in take(consumer, 2)} == {topic, kept}
        with administering(broker) as admin:
            admin.delete_topics([topic])
        assert topic not in consumer.topics()
        for value in numbers(0, 5):
            send(broker, kept, [value])
            assert values(take(consumer, 1)) == [value]
        send(broker, topic, [b"anew"])
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), 0)
        assert values(take(consumer, 1)) == [b"anew"]


def test_a_gone_offset_is_reset_as_the_consumer_wishes(broker: BrokerProcess, topic: str) -> None:
    send(broker, topic, numbers(0, 10))
    place = TopicPartition(topic, 0)
    with administering(broker) as admin:
        admin.delete_records({place: 6})
    with consuming(broker, {place: 2}, auto_offset_reset="earliest") as consumer:
        assert values(take(consumer, 4)) == numbers(6, 10)
        assert consumer.beginning_offsets([place]) == {place: 6}
    with consuming(broker, {place: 2}, auto_offset_reset="latest") as consumer:
        deadline_s = time.monotonic() + WAIT_S
        while consumer.position(place) != 10:
            assert consumer.poll(timeout_ms=50) == {}
            assert time.monotonic() < deadline_s
        send(broker, topic, [b"new"])
        assert values(take(consumer, 1)) == [b"new"]
    with (
        consuming(broker, {place: 2}, auto_offset_reset="none") as consumer,
        pytest.raises(kafka.errors.OffsetOutOfRangeError),
    ):
        take(consumer, 1)
    with consuming(broker, {place: 1000}, auto_offset_reset="earliest") as consumer:
        assert values(take(consumer, 1)) == [b"6"]


class Stream(threading.Thread):
    """A producer that numbers its messages and never pauses."""

    def __init__(self, producer: Any, topic: str) -> None:
        super().__init__()
        self.topic = topic
        self.futures: list[Any] = []
        self.enough = threading.Event()
        self._producer = producer

    def run(self) -> None:
        while not self.enough.is_set():
            for _ in range(20):
                value = b"%d" % len(self.futures)
                self.futures.append(self._producer.send(self.topic, value))
            self.futures[max(0, len(self.futures) - 500)].get(WAIT_S)  # not too far ahead


@RESTARTS
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_producer_and_consumer_go_on_after_a_restart(
    own_broker: Callable[..., BrokerProcess],
    topic: str,
    end: Callable[[BrokerProcess], Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL, "kafka")  # or what it logs holds on to those sockets
    server = own_broker().start()
    create(server, topic)
    offsets, found = through_a_restart(server, topic, end)
    gc.collect()  # it leaves sockets open that could not connect
    assert offsets == list(range(len(offsets)))
    assert found == numbers(0, len(offsets))
    assert "Traceback" not in server.log


def through_a_restart(
    server: BrokerProcess, topic: str, end: Callable[[BrokerProcess], Any]
) -> tuple[list[int], list[bytes]]:
    """The offsets that were acknowledged, in the order of sending, and what was read."""
    with (
        consuming(server, {TopicPartition(topic, 0): 0}, **STEADY) as consumer,
        producing(server, linger_ms=2, **STEADY) as producer,
    ):
        stream = Stream(producer, topic)
        stream.start()
        try:
            found = take(consumer, 500)
            end(server)
            server.start()
            found += take(consumer, 1000)
        finally:
            stream.enough.set()
            stream.join()
        offsets = [future.get(WAIT_S).offset for future in stream.futures]
        found += take(consumer, len(offsets) - len(found))
    return offsets, values(found)


def test_messages_for_later_come_when_they_are_due(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic, delayed_delivery="true")
    with producing(broker, acks="all") as producer:
        for number in range(3):
            headers = [("penstock-delay-ms", b"%d" % (300 - 100 * number))]
            producer.send(topic, b"%d" % number, headers=headers, partition=0).get(WAIT_S)
    with consuming(broker, {TopicPartition(topic, 0): 0}) as consumer:
        assert values(take(consumer, 3)) == [b"2", b"1", b"0"]
