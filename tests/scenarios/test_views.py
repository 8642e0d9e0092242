"""Views with running brokers and real clients: what matches is read once, and in order."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import aiokafka
import confluent_kafka
import confluent_kafka.admin
import pytest
from tests.broker_process import BrokerProcess
from tests.cluster_process import Cluster
from tests.group_process import WAIT_S
from tests.group_stage import administer, wait_until
from tests.lanes import cases

rdkafka: Any = confluent_kafka
NewTopic: Any = confluent_kafka.admin.NewTopic  # type: ignore[attr-defined]
"""Its types are not all there."""
COUNT = 600
REGIONS = ("eu", "us", "ap")
CODECS = ("none", "lz4", "zstd", "gzip", "snappy")


def create(address: str, view: str, of: str, where: str) -> None:
    config = {"view.of": of, "view.where": where}
    made = NewTopic(view, num_partitions=-1, replication_factor=-1, config=config)
    administer(address, lambda admin: admin.create_topics([made]))


def write(
    address: str, topic: str, count: int = COUNT, first: int = 0, compression: str = "none"
) -> None:
    """Numbers, each with a region; batches have some of all."""
    producer = rdkafka.Producer(
        {
            "bootstrap.servers": address,
            "linger.ms": 20,
            "compression.type": compression,
            "log_level": 0,
        }
    )
    for number in range(first, first + count):
        tags = [("region", REGIONS[number % 3]), ("size", str(number % 100))]
        producer.produce(
            topic, str(number).encode(), key=str(number % 7), headers=tags, partition=0
        )
    assert producer.flush(WAIT_S) == 0


def of_region(region: str, count: int = COUNT) -> list[int]:
    return [number for number in range(count) if REGIONS[number % 3] == region]


def read(address: str, topic: str, count: int, **settings: Any) -> list[int]:
    """So many, by a consumer without a group; then it must have come to the end."""
    consumer = rdkafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": f"readers-of-{topic}",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "log_level": 0,
            **settings,
        }
    )
    consumer.assign([rdkafka.TopicPartition(topic, 0, 0)])
    found: list[int] = []

    def is_done() -> bool:
        message = consumer.poll(0.2)
        if message is None:
            return False
        if message.error():
            return bool(message.error().code() == rdkafka.KafkaError._PARTITION_EOF)
        found.append(int(message.value()))
        return False

    wait_until(is_done, f"the end of {topic}")
    consumer.close()
    assert len(found) == count, found[-5:]
    return found


@pytest.fixture
def view(broker: BrokerProcess, topic: str) -> str:
    name = f"{topic}-eu"
    administer(broker.address, lambda admin: admin.create_topics([NewTopic(topic, 1, 1)]))
    create(broker.address, name, topic, "region = 'eu'")
    return name


@pytest.mark.parametrize("codec", cases(CODECS, in_test=("none", "lz4")))
def test_librdkafka_reads_what_matches_and_gets_to_the_end(
    broker: BrokerProcess, topic: str, view: str, codec: str
) -> None:
    write(broker.address, topic, compression=codec)
    assert read(broker.address, view, COUNT // 3) == of_region("eu")


async def test_aiokafka_reads_a_view(broker: BrokerProcess, topic: str, view: str) -> None:
    write(broker.address, topic)
    consumer = aiokafka.AIOKafkaConsumer(
        view, bootstrap_servers=broker.address, auto_offset_reset="earliest"
    )
    await consumer.start()
    wanted = of_region("eu")
    found = [int((await consumer.getone()).value) for _ in wanted]
    await consumer.stop()
    assert found == wanted


def test_kcat_reads_a_view(broker: BrokerProcess, topic: str, view: str) -> None:
    write(broker.address, topic)
    printed = subprocess.run(
        ["kcat", "-b", broker.address, "-C", "-t", view, "-e", "-q", "-J"],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
    )
    found = [json.loads(line) for line in printed.stdout.splitlines()]
    assert [int(each["payload"]) for each in found] == of_region("eu")
    assert [each["offset"] for each in found] == of_region("eu")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_goes_on_in_a_view_where_it_was(
    broker: BrokerProcess, topic: str, view: str, protocol: str
) -> None:
    write(broker.address, topic, 300)
    found = list(taken(broker.address, view, protocol, 40))
    found += taken(broker.address, view, protocol, 60)
    write(broker.address, topic, 300, first=300)
    found += taken(broker.address, view, protocol, 100)
    assert found == of_region("eu")


def taken(address: str, topic: str, protocol: str, count: int) -> Iterator[int]:
    """So many by a member of the group, which commits them and leaves."""
    consumer = rdkafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": f"group-of-{topic}",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.subscribe([topic])
    for _ in range(count):
        message = wait_until(lambda: consumer.poll(1.0), "the next message")
        assert message.error() is None, message.error()
        yield int(message.value())
        consumer.commit(message, asynchronous=False)
    consumer.close()


def test_what_is_aborted_is_not_shown_to_readers_of_committed(
    broker: BrokerProcess, topic: str, view: str
) -> None:
    producer = rdkafka.Producer(
        {"bootstrap.servers": broker.address, "transactional.id": topic, "log_level": 0}
    )
    producer.init_transactions(WAIT_S)
    for round_number in range(6):
        producer.begin_transaction()
        for number in range(round_number * 30, round_number * 30 + 30):
            tags = [("region", REGIONS[number % 3])]
            producer.produce(topic, str(number).encode(), headers=tags, partition=0)
        assert producer.flush(WAIT_S) == 0
        if round_number % 2:
            producer.abort_transaction(WAIT_S)
        else:
            producer.commit_transaction(WAIT_S)
    wanted = [number for number in of_region("eu", 180) if number // 30 % 2 == 0]
    assert read(broker.address, view, len(wanted)) == wanted
    uncommitted = {"isolation.level": "read_uncommitted"}
    assert read(broker.address, view, 60, **uncommitted) == of_region("eu", 180)


def test_a_producer_is_told_that_a_view_cannot_be_written(broker: BrokerProcess, view: str) -> None:
    producer = rdkafka.Producer({"bootstrap.servers": broker.address, "log_level": 0})
    errors: list[Any] = []
    producer.produce(view, b"x", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(WAIT_S) == 0
    assert errors[0].code() == rdkafka.KafkaError.TOPIC_EXCEPTION


@pytest.mark.parametrize("way", ["kill", "pause"])
def test_a_view_is_read_on_while_its_leader_is_away(
    own_cluster: Callable[..., Cluster], topic: str, way: str
) -> None:
    cluster = own_cluster()
    for _ in range(3):
        cluster.add().start()
    cluster.wait_known()
    cluster.create(topic)
    name = f"{topic}-eu"
    create(cluster.address, name, topic, "region = 'eu'")
    write(cluster.address, topic, 300)
    consumer = rdkafka.Consumer(
        {
            "bootstrap.servers": cluster.address,
            "group.id": name,
            "auto.offset.reset": "earliest",
            "socket.timeout.ms": 3000,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
    )
    consumer.subscribe([name])
    found: list[int] = []

    def has(count: int) -> bool:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            found.append(int(message.value()))
        return len(found) >= count

    wait_until(lambda: has(50), "half of them")
    leader = cluster.leader(topic)
    getattr(leader, way)()
    write(cluster.address, topic, 300, first=300)
    wait_until(lambda: has(150), "half of what was written meanwhile")
    if way == "pause":
        leader.wake()
    wait_until(lambda: has(200), "all of them")
    consumer.close()
    assert found == of_region("eu")


def test_the_index_of_tags_outlives_a_broker_that_is_killed(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    """Segments that have been gone through are not gone through again."""
    broker = own_broker().start()
    settings = {"segment.bytes": "1048576"}
    made = NewTopic(topic, num_partitions=1, replication_factor=1, config=settings)
    administer(broker.address, lambda admin: admin.create_topics([made]))
    name = f"{topic}-none"
    create(broker.address, name, topic, "region = 'nowhere'")
    write(broker.address, topic, 60_000)
    assert read(broker.address, name, 0) == []
    folder = broker.data_dir / f"{topic}-0"
    kept = {path: path.stat().st_mtime_ns for path in folder.glob("*.tagindex")}
    assert len(kept) == len(list(folder.glob("*.log"))) - 1 > 0
    broker.kill()
    broker.start()
    assert read(broker.address, name, 0) == []
    again = {path: path.stat().st_mtime_ns for path in folder.glob("*.tagindex")}
    assert again == kept, "one was not believed, and made anew"
    write(broker.address, topic, 3, first=60_000)
    assert read(broker.address, name, 0) == []


def test_a_view_that_may_go_stays_while_it_is_read_and_goes_afterwards(
    broker: BrokerProcess, topic: str
) -> None:
    administer(
        broker.address,
        lambda admin: admin.create_topics(
            [NewTopic(topic, num_partitions=1, replication_factor=1)]
        ),
    )
    name, idle_ms = f"{topic}-for-a-while", 3000
    config = {"view.of": topic, "view.where": "region = 'eu'", "view.idle.ms": str(idle_ms)}
    made = NewTopic(name, num_partitions=-1, replication_factor=-1, config=config)
    administer(broker.address, lambda admin: admin.create_topics([made]))
    consumer = rdkafka.Consumer(
        {"bootstrap.servers": broker.address, "group.id": name, "log_level": 0}
    )
    consumer.assign([rdkafka.TopicPartition(name, 0, 0)])
    began = time.monotonic()

    def names() -> set[str]:
        return set(consumer.list_topics(timeout=WAIT_S).topics)

    def is_old() -> bool:
        assert consumer.poll(0.2) is None
        assert name in names()
        return time.monotonic() - began > 3 * idle_ms / 1000

    wait_until(is_old, "a view that is older than it would be unread")
    consumer.assign([])
    wait_until(lambda: name not in names(), "the view to go")
    assert topic in names()
    consumer.close()
