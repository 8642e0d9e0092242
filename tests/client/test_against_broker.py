"""The client and a real broker: what is asked is answered, and a restart is survived."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.broker_process import BrokerProcess

from penstock.client import admin, offsets
from penstock.client.cluster import WireClient
from penstock.client.producer import Delivery, Producer
from penstock.client.reader import Reader, batches, fetch


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
