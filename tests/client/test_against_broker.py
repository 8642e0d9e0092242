"""The client and a real broker: what is asked is answered, and a restart is survived."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import msgspec
import pytest
from tests.broker_process import BrokerProcess

from penstock.client import admin, offsets
from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.group_offsets import committed_offsets
from penstock.client.open_transaction import OpenTransaction, begin, commit_offsets, end
from penstock.client.producer import Delivery, Producer
from penstock.client.reader import Reader, batches, fetch
from penstock.errors import ErrorCode

TRANSACTIONS = 100


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


def send(client: WireClient, topic: str, *timestamps_ms: int) -> None:
    producer = Producer(client, topic)
    for timestamp_ms in timestamps_ms:
        producer.send(b"v", timestamp_ms=timestamp_ms)
    producer.flush()


def test_the_cluster_describes_itself(client: WireClient, broker: BrokerProcess) -> None:
    told = admin.describe_cluster(client)
    assert told.cluster_id
    assert [(node, str(address)) for node, address in told.brokers.items()] == [(1, broker.address)]


def test_a_broker_tells_its_settings(client: WireClient) -> None:
    told = admin.broker_configs(client, 1)
    assert told["num.partitions"].value == "1"
    assert told["num.partitions"].source == admin.DEFAULT


def test_offsets_are_found_by_time(client: WireClient, topic: str) -> None:
    admin.create_topic(client, topic)
    send(client, topic, 1000, 3000, 2000)
    assert offsets.offsets_at(client, topic, {0: 1500}) == {0: offsets.Found(1, 3000)}
    assert offsets.offsets_at(client, topic, {0: 3001}) == {0: offsets.Found(-1, -1)}
    newest = offsets.offsets_at(client, topic, {0: offsets.MAX_TIMESTAMP})
    assert newest[0].timestamp == 3000


def test_a_fetch_brings_whole_batches_as_they_are_stored(client: WireClient, topic: str) -> None:
    admin.create_topic(client, topic)
    send(client, topic, 1000, 2000)
    send(client, topic, 3000)
    (got,) = fetch(client, client.topic(topic), {0: 1}, client.deadline())
    headers = [header for header, _ in batches(got.data)]
    assert [(each.base_offset, each.record_count) for each in headers] == [(0, 2), (2, 1)]
    assert (got.high_watermark, got.log_start) == (3, 0)


def test_a_broker_that_comes_back_has_every_record_once(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    broker = own_broker().start()
    delivered: list[Delivery] = []
    with WireClient(broker.address) as client:
        admin.create_topic(client, topic)
        producer = Producer(client, topic, on_delivery=delivered.append)
        producer.send(b"before")
        producer.flush()
        broker.kill()
        broker.start()
        producer.send(b"after")
        producer.flush()
        reader = Reader(client, topic, {0: 0})
        values = [each.value for arrived in reader.poll() for each in arrived.records()]
    assert values == [b"before", b"after"]
    assert [each.base_offset for each in delivered] == [0, 1]


def values_in(client: WireClient, topic: str) -> list[bytes | None]:
    """What consumers see who read only what is committed."""
    consumer: Any = confluent_kafka.Consumer(
        {
            "bootstrap.servers": str(client.brokers()[1]),
            "group.id": "reader",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    values = []
    while not (message := consumer.poll(30)).error():
        values.append(message.value())
    consumer.close()
    return values


def test_a_transaction_is_opened_here_and_ended_by_another_client(
    client: WireClient, broker: BrokerProcess, topic: str
) -> None:
    admin.create_topic(client, topic)
    tasks = [begin(client, f"{topic}-{task}") for task in range(3)]
    for number, each in enumerate(tasks):
        producer = Producer(client, topic, transaction=each)
        producer.send(b"of task %d" % number)
        producer.flush()
    commit_offsets(client, tasks[0], topic, {(topic, 0): 1})
    assert values_in(client, topic) == []
    handed_on = [msgspec.json.encode(each) for each in tasks]
    with WireClient(broker.address) as other:
        for number, raw in enumerate(handed_on):
            opened = msgspec.json.decode(raw, type=OpenTransaction)
            after = end(other, opened, is_commit=number != 1)
            assert end(other, opened, is_commit=number != 1) == after, "asked twice, done once"
    assert values_in(client, topic) == [b"of task 0", b"of task 2"]
    assert committed_offsets(client, topic)[topic, 0].offset == 1


def test_who_begins_with_the_same_id_shuts_out_the_one_before(
    client: WireClient, topic: str
) -> None:
    admin.create_topic(client, topic)
    zombie = begin(client, topic)
    producer = Producer(client, topic, transaction=zombie)
    producer.send(b"of a zombie")
    producer.flush()
    heir = begin(client, topic)
    with pytest.raises(ClientError) as caught:
        end(client, zombie, is_commit=True)
    assert caught.value.code is ErrorCode.PRODUCER_FENCED
    assert end(client, heir, is_commit=False).epoch > heir.epoch
    assert values_in(client, topic) == []


def test_transactions_one_right_after_the_other_are_not_refused(
    client: WireClient, topic: str
) -> None:
    """A commit is answered before the partitions have its marker, which may come between the next
    transaction's first record and the answer of its coordinator."""
    admin.create_topic(client, topic)
    opened = begin(client, topic)
    for number in range(TRANSACTIONS):
        producer = Producer(client, topic, transaction=opened)
        producer.send(b"%d" % number)
        producer.flush()
        commit_offsets(client, opened, topic, {(topic, 0): number + 1})
        opened = end(client, opened, is_commit=True)
    begin(client, topic)  # which waits until the last one is over
    assert values_in(client, topic) == [b"%d" % number for number in range(TRANSACTIONS)]
