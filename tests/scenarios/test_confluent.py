"""What applications on confluent-kafka, and so on librdkafka, do with a broker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import confluent_kafka.admin
import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, TopicPartition
from tests.broker_process import BrokerProcess

WAIT_S = 30
rdkafka: Any = confluent_kafka.admin
"""Its types are not all there."""
RESTARTS = pytest.mark.parametrize("end", [BrokerProcess.stop, BrokerProcess.kill])
STEADY = {"reconnect.backoff.max.ms": 100, "retry.backoff.ms": 50, "message.timeout.ms": 60_000}
OLD_MS = 1_700_000_000_000


def create(broker: BrokerProcess, topic: str, partitions: int = 1, **settings: str) -> None:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    new = rdkafka.NewTopic(topic, partitions, config=named)
    admin = rdkafka.AdminClient({"bootstrap.servers": broker.address})
    done(admin.create_topics([new]))


def done(futures: dict[Any, Any]) -> Any:
    """The result of the one thing that was asked for."""
    (future,) = futures.values()
    return future.result(WAIT_S)


def producer(broker: BrokerProcess, **settings: Any) -> Any:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return confluent_kafka.Producer({"bootstrap.servers": broker.address, **named})


class Delivered:
    """Delivery reports, in the order in which they came."""

    def __init__(self) -> None:
        self.errors: list[KafkaError] = []
        self.places: list[tuple[int, int]] = []
        self.timestamps: list[tuple[int, int]] = []

    def __call__(self, error: KafkaError | None, message: Any) -> None:
        if error is not None:
            self.errors.append(error)
            return
        self.places.append((message.partition(), message.offset()))
        self.timestamps.append(message.timestamp())


def send(broker: BrokerProcess, topic: str, values: list[bytes], **settings: Any) -> Delivered:
    """In one batch, if they go to one partition; they must be acknowledged."""
    delivered = Delivered()
    sender = producer(broker, linger_ms=20, **settings)
    for value in values:
        sender.produce(topic, value, partition=0, on_delivery=delivered)
    assert sender.flush(WAIT_S) == 0
    assert delivered.errors == []
    return delivered


@contextmanager
def consuming(broker: BrokerProcess, *places: TopicPartition, **settings: Any) -> Iterator[Any]:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    consumer: Any = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "none",
            "enable.auto.commit": False,
            "check.crcs": True,
            "fetch.wait.max.ms": 50,
            "topic.metadata.propagation.max.ms": 100,  # till an unknown topic is an error
            **named,
        }
    )
    consumer.assign(list(places))
    try:
        yield consumer
    finally:
        consumer.close()


def take(consumer: Any, count: int) -> list[Any]:
    """The next messages, which must come without an error."""
    messages: list[Any] = []
    for _ in range(count):
        message = consumer.poll(WAIT_S)
        assert message is not None, f"only {len(messages)} of {count} came"
        assert message.error() is None, message.error()
        messages.append(message)
    return messages


def values(messages: list[Any]) -> list[bytes]:
    return [message.value() for message in messages]


def error_of(consumer: Any) -> KafkaError:
    """The next error; messages before it are passed over."""
    deadline_s = time.monotonic() + WAIT_S
    while time.monotonic() < deadline_s:
        message = consumer.poll(1)
        if message is not None and message.error() is not None:
            error: KafkaError = message.error()
            return error
    raise AssertionError("no error came")


def numbers(first: int, last: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, last)]


@pytest.mark.parametrize(
    "settings",
    [{"acks": 0}, {"acks": 1}, {"acks": "all"}, {"enable_idempotence": True}],
    ids=["acks 0", "acks 1", "acks all", "idempotent"],
)
def test_every_kind_of_acknowledgement_delivers(
    broker: BrokerProcess, topic: str, settings: dict[str, Any]
) -> None:
    create(broker, topic)
    delivered = send(broker, topic, numbers(0, 50), **settings)
    if settings != {"acks": 0}:
        assert delivered.places == [(0, offset) for offset in range(50)]
    with consuming(broker, TopicPartition(topic, 0, 0)) as consumer:
        assert values(take(consumer, 50)) == numbers(0, 50)


def test_all_that_a_record_may_carry_comes_back(broker: BrokerProcess, topic: str) -> None:
    headers = [("twice", b"1"), ("twice", b"2"), ("empty", b""), ("null", None), ("é", b"\xff")]
    records: list[dict[str, Any]] = [
        {"key": b"key", "value": b"value", "headers": headers, "timestamp": OLD_MS},
        {"key": None, "value": b"no key", "timestamp": OLD_MS + 5},
        {"key": b"tombstone", "value": None, "timestamp": OLD_MS + 3},
        {"key": b"", "value": b"", "timestamp": OLD_MS + 4},
    ]
    sender = producer(broker)
    for record in records:
        sender.produce(topic, partition=0, **record)
    assert sender.flush(WAIT_S) == 0
    with consuming(broker, TopicPartition(topic, 0, 0)) as consumer:
        found = take(consumer, 4)
    assert [(each.key(), each.value()) for each in found] == [
        (record["key"], record["value"]) for record in records
    ]
    assert [each.headers() for each in found] == [headers, None, None, None]
    assert [each.timestamp() for each in found] == [
        (confluent_kafka.TIMESTAMP_CREATE_TIME, record["timestamp"]) for record in records
    ]


def test_several_partitions_are_written_and_read_at_once(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic, 4)
    delivered = Delivered()
    sender = producer(broker)
    for number in range(400):
        sender.produce(topic, b"%d" % number, partition=number % 4, on_delivery=delivered)
    assert sender.flush(WAIT_S) == 0
    assert sorted(delivered.places) == [(p, offset) for p in range(4) for offset in range(100)]
    with consuming(broker, *(TopicPartition(topic, p, 0) for p in range(4))) as consumer:
        found = take(consumer, 400)
    for partition in range(4):
        read = [int(each.value()) for each in found if each.partition() == partition]
        assert read == list(range(partition, 400, 4))


def test_the_largest_message_goes_through_and_a_larger_one_is_refused(
    broker: BrokerProcess, topic: str
) -> None:
    delivered = Delivered()
    sender = producer(broker, message_max_bytes=4_000_000)
    for size in (1_048_500, 1_048_588, 10):
        sender.produce(topic, b"x" * size, on_delivery=delivered)
        assert sender.flush(WAIT_S) == 0
    assert [error.code() for error in delivered.errors] == [KafkaError.MSG_SIZE_TOO_LARGE]
    assert delivered.places == [(0, 0), (0, 1)]
    with consuming(broker, TopicPartition(topic, 0, 0)) as consumer:
        assert [len(value) for value in values(take(consumer, 2))] == [1_048_500, 10]


def test_a_timestamp_far_in_the_future_is_refused(broker: BrokerProcess, topic: str) -> None:
    delivered = Delivered()
    sender = producer(broker)
    sender.produce(topic, b"a", timestamp=9_000_000_000_000, on_delivery=delivered)
    assert sender.flush(WAIT_S) == 0
    assert [error.code() for error in delivered.errors] == [KafkaError.INVALID_TIMESTAMP]


def test_a_consumer_starts_where_it_is_told_and_seeks(broker: BrokerProcess, topic: str) -> None:
    send(broker, topic, numbers(0, 100))
    with consuming(broker, TopicPartition(topic, 0, OFFSET_BEGINNING)) as consumer:
        assert values(take(consumer, 3)) == numbers(0, 3)
        for offset in (60, 7, 99, 0, 50):
            consumer.seek(TopicPartition(topic, 0, offset))
            assert values(take(consumer, 1)) == [b"%d" % offset]
        consumer.assign([TopicPartition(topic, 0, 97)])
        assert values(take(consumer, 3)) == numbers(97, 100)


def test_a_consumer_at_the_end_sees_only_what_comes(broker: BrokerProcess, topic: str) -> None:
    send(broker, topic, numbers(0, 10))
    with consuming(
        broker, TopicPartition(topic, 0, OFFSET_END), enable_partition_eof=True
    ) as consumer:
        assert error_of(consumer).code() == KafkaError._PARTITION_EOF
        send(broker, topic, [b"new"])
        assert values(take(consumer, 1)) == [b"new"]


def test_a_paused_partition_is_silent_until_it_is_resumed(
    broker: BrokerProcess, topic: str
) -> None:
    create(broker, topic, 2)
    first, second = TopicPartition(topic, 0, 0), TopicPartition(topic, 1, 0)
    with consuming(broker, first, second) as consumer:
        consumer.pause([first])
        sender = producer(broker)
        for number in range(20):
            sender.produce(topic, b"%d" % number, partition=number % 2)
        assert sender.flush(WAIT_S) == 0
        assert {message.partition() for message in take(consumer, 10)} == {1}
        consumer.resume([first])
        assert {message.partition() for message in take(consumer, 10)} == {0}


def test_times_have_offsets_and_partitions_have_ends(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic, 2)
    sender = producer(broker)
    for number in range(10):
        sender.produce(topic, b"%d" % number, partition=0, timestamp=OLD_MS + 10 * number)
    assert sender.flush(WAIT_S) == 0
    with consuming(broker) as consumer:

        def offset_at(timestamp: int) -> int:
            asked = [TopicPartition(topic, 0, timestamp)]
            (found,) = consumer.offsets_for_times(asked, timeout=WAIT_S)
            offset: int = found.offset
            return offset

        times = (0, OLD_MS, OLD_MS + 1, OLD_MS + 50, OLD_MS + 90)
        assert [offset_at(each) for each in times] == [0, 0, 1, 5, 9]
        assert offset_at(OLD_MS + 91) == OFFSET_END
        assert consumer.get_watermark_offsets(TopicPartition(topic, 0), WAIT_S) == (0, 10)
        assert consumer.get_watermark_offsets(TopicPartition(topic, 1), WAIT_S) == (0, 0)


def test_the_broker_sets_the_time_where_the_topic_says_so(
    broker: BrokerProcess, topic: str
) -> None:
    create(broker, topic, message_timestamp_type="LogAppendTime")
    sender, delivered = producer(broker), Delivered()
    for _ in range(3):
        sender.produce(topic, b"x", timestamp=OLD_MS, on_delivery=delivered)
    assert sender.flush(WAIT_S) == 0
    with consuming(broker, TopicPartition(topic, 0, 0)) as consumer:
        found = [message.timestamp() for message in take(consumer, 3)]
        (late,) = consumer.offsets_for_times([TopicPartition(topic, 0, OLD_MS + 1)], WAIT_S)
    assert found == delivered.timestamps
    assert {kind for kind, _ in found} == {confluent_kafka.TIMESTAMP_LOG_APPEND_TIME}
    assert min(timestamp for _, timestamp in found) > OLD_MS
    assert late.offset == 0


def test_a_consumer_that_waits_gets_what_is_produced_later(
    broker: BrokerProcess, topic: str
) -> None:
    create(broker, topic)
    patient = {"fetch_wait_max_ms": 2 * WAIT_S * 1000, "socket_timeout_ms": 4 * WAIT_S * 1000}
    with consuming(broker, TopicPartition(topic, 0, 0), **patient) as consumer:
        assert consumer.poll(0.2) is None
        for value in numbers(0, 5):
            send(broker, topic, [value])
            assert values(take(consumer, 1)) == [value]


def test_news_of_some_of_many_partitions_arrive(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic, 12)
    sender = producer(broker)
    with consuming(broker, *(TopicPartition(topic, p, 0) for p in range(12))) as consumer:
        for turn in range(20):
            chosen = {turn % 12, turn * 5 % 12}
            for partition in chosen:
                sender.produce(topic, b"%d" % turn, partition=partition)
            assert sender.flush(WAIT_S) == 0
            found = take(consumer, len(chosen))
            assert {message.partition() for message in found} == chosen
            assert set(values(found)) == {b"%d" % turn}


def test_a_topic_is_made_by_producing_and_listed(broker: BrokerProcess, topic: str) -> None:
    sender = producer(broker)
    assert topic not in sender.list_topics(timeout=WAIT_S).topics
    with consuming(broker) as consumer:
        asked = consumer.list_topics(topic, WAIT_S).topics[topic]
        assert asked.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
        assert topic not in consumer.list_topics(timeout=WAIT_S).topics, "consuming makes none"
    assert send(broker, topic, [b"a"]).places == [(0, 0)]
    listed = sender.list_topics(timeout=WAIT_S)
    assert list(listed.topics[topic].partitions) == [0]
    assert [(each.id, each.port) for each in listed.brokers.values()] == [(1, broker.port)]


def test_a_topic_is_not_made_where_the_broker_forbids_it(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    server = own_broker("--set", "auto.create.topics.enable=false").start()
    delivered = Delivered()
    sender = producer(server, topic_metadata_propagation_max_ms=100)
    sender.produce(topic, b"a", on_delivery=delivered)
    assert sender.flush(WAIT_S) == 0
    gone = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC}
    assert {error.code() for error in delivered.errors} <= gone
    assert len(delivered.errors) == 1
    assert topic not in sender.list_topics(timeout=WAIT_S).topics


def test_a_producer_without_acknowledgements_goes_on_after_a_refusal(
    broker: BrokerProcess, topic: str
) -> None:
    create(broker, topic)
    sender = producer(broker, acks=0, message_max_bytes=4_000_000, reconnect_backoff_ms=10)
    sender.produce(topic, b"x" * 2_000_000, partition=0)
    with consuming(broker, TopicPartition(topic, 0, 0)) as consumer:
        deadline_s = time.monotonic() + WAIT_S
        while (message := consumer.poll(0.05)) is None:
            assert time.monotonic() < deadline_s
            sender.produce(topic, b"small", partition=0)
            sender.poll(0)
        assert values([message]) == [b"small"]
    assert sender.flush(WAIT_S) == 0


def test_a_running_producer_finds_new_partitions(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic)
    sender = producer(broker, topic_metadata_refresh_interval_ms=50)
    delivered = Delivered()

    def partitions_hit() -> set[int]:
        for number in range(50):
            sender.produce(topic, b"x", b"%d" % number, on_delivery=delivered)
        assert sender.flush(WAIT_S) == 0
        return {partition for partition, _ in delivered.places}

    assert partitions_hit() == {0}
    admin = rdkafka.AdminClient({"bootstrap.servers": broker.address})
    done(admin.create_partitions([rdkafka.NewPartitions(topic, 3)]))
    deadline_s = time.monotonic() + WAIT_S
    while partitions_hit() != {0, 1, 2}:
        assert time.monotonic() < deadline_s
    assert delivered.errors == []


def test_a_consumer_outlives_the_deletion_of_one_of_its_topics(
    broker: BrokerProcess, topic: str
) -> None:
    kept = topic + "-kept"
    admin = rdkafka.AdminClient({"bootstrap.servers": broker.address})
    for name in (topic, kept):
        send(broker, name, [b"a"])
    with consuming(broker, TopicPartition(topic, 0, 0), TopicPartition(kept, 0, 0)) as consumer:
        assert {message.topic() for message in take(consumer, 2)} == {topic, kept}
        done(admin.delete_topics([topic]))
        assert topic not in consumer.list_topics(timeout=WAIT_S).topics
        for value in numbers(0, 5):
            send(broker, kept, [value])
            assert values(take(consumer, 1)) == [value]
        send(broker, topic, [b"anew"])
        consumer.assign([TopicPartition(topic, 0, 0)])
        assert values(take(consumer, 1)) == [b"anew"]


def test_an_idempotent_producer_goes_on_when_its_topic_was_made_anew(
    broker: BrokerProcess, topic: str
) -> None:
    delivered = Delivered()
    sender = producer(broker, enable_idempotence=True, retry_backoff_ms=20)
    admin = rdkafka.AdminClient({"bootstrap.servers": broker.address})
    for value in (b"old", b"older"):
        sender.produce(topic, value, on_delivery=delivered)
        assert sender.flush(WAIT_S) == 0
    done(admin.delete_topics([topic]))
    create(broker, topic)
    sender.produce(topic, b"new", on_delivery=delivered)
    assert sender.flush(WAIT_S) == 0
    assert delivered.errors == []
    assert delivered.places == [(0, 0), (0, 1), (0, 0)]
    with consuming(broker, TopicPartition(topic, 0, 0)) as consumer:
        assert values(take(consumer, 1)) == [b"new"]


def test_a_gone_offset_is_reset_as_the_consumer_wishes(broker: BrokerProcess, topic: str) -> None:
    send(broker, topic, numbers(0, 10))
    admin = rdkafka.AdminClient({"bootstrap.servers": broker.address})
    done(admin.delete_records([TopicPartition(topic, 0, 6)]))
    place = TopicPartition(topic, 0, 2)
    with consuming(broker, place, auto_offset_reset="earliest") as consumer:
        assert values(take(consumer, 4)) == numbers(6, 10)
        assert consumer.get_watermark_offsets(place, WAIT_S) == (6, 10)
    with consuming(
        broker, place, auto_offset_reset="latest", enable_partition_eof=True
    ) as consumer:
        assert error_of(consumer).code() == KafkaError._PARTITION_EOF
        send(broker, topic, [b"new"])
        assert values(take(consumer, 1)) == [b"new"]
    with consuming(broker, place, auto_offset_reset="error") as consumer:
        assert error_of(consumer).code() == KafkaError._AUTO_OFFSET_RESET
    past_the_end = TopicPartition(topic, 0, 1000)
    with consuming(broker, past_the_end, auto_offset_reset="earliest") as consumer:
        assert values(take(consumer, 1)) == [b"6"]


class Stream(threading.Thread):
    """An idempotent producer that numbers its messages and never pauses."""

    def __init__(self, broker: BrokerProcess, topic: str) -> None:
        super().__init__()
        self.topic = topic
        self.sent = 0
        self.delivered = Delivered()
        self.enough = threading.Event()
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": broker.address,
                "enable.idempotence": True,
                "linger.ms": 2,
                "queue.buffering.max.messages": 500,
                **STEADY,
            }
        )

    def run(self) -> None:
        while not self.enough.is_set():
            try:
                self._producer.produce(self.topic, b"%d" % self.sent, on_delivery=self.delivered)
                self.sent += 1
                self._producer.poll(0)
            except BufferError:
                self._producer.poll(0.01)
        self._producer.flush(WAIT_S)


@RESTARTS
def test_producer_and_consumer_go_on_after_a_restart(
    own_broker: Callable[..., BrokerProcess], topic: str, end: Callable[[BrokerProcess], Any]
) -> None:
    server = own_broker().start()
    create(server, topic)
    steady = {key.replace(".", "_"): value for key, value in STEADY.items() if key[0] == "r"}
    with consuming(server, TopicPartition(topic, 0, 0), **steady) as consumer:
        stream = Stream(server, topic)
        stream.start()
        found = []
        try:
            found += take_through(consumer, 2000)
            end(server)
            server.start()
            found += take_through(consumer, 2000)
        finally:
            stream.enough.set()
            stream.join()
        assert stream.delivered.errors == []
        assert len(stream.delivered.places) == stream.sent
        found += take_through(consumer, stream.sent - len(found))
    assert found == numbers(0, stream.sent)
    assert "Traceback" not in server.log


def take_through(consumer: Any, count: int) -> list[bytes]:
    """The next messages, whatever is said of connections meanwhile."""
    found: list[bytes] = []
    deadline_s = time.monotonic() + WAIT_S
    while len(found) < count:
        assert time.monotonic() < deadline_s, f"only {len(found)} of {count} came"
        for message in consumer.consume(count - len(found), 0.1):
            if message.error() is None:
                found.append(message.value())
            else:
                assert message.error().code() in (
                    KafkaError._TRANSPORT,
                    KafkaError._ALL_BROKERS_DOWN,
                )
    return found
