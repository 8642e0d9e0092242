"""Any Kafka client works with the fixture."""

from __future__ import annotations

import warnings

import aiokafka
import pytest
from tests.sdk.testing.test_broker import read, send

from penstock.testing import Broker

with warnings.catch_warnings():  # it reads its schemas by a call that Python 3.11 deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*_text is deprecated:DeprecationWarning",  # its schemas, as above
)


def test_confluent_kafka(penstock_broker: Broker) -> None:
    topic = penstock_broker.topic()
    send(penstock_broker.bootstrap, topic, "hello")
    assert read(penstock_broker.bootstrap, topic) == "hello"


def test_kafka_python(penstock_broker: Broker) -> None:
    topic, address = penstock_broker.topic(), penstock_broker.bootstrap
    producer = kafka.KafkaProducer(bootstrap_servers=address)
    producer.send(topic, b"hello").get(timeout=30)
    producer.close()
    consumer = kafka.KafkaConsumer(
        topic,
        bootstrap_servers=address,
        group_id="readers",
        auto_offset_reset="earliest",
        consumer_timeout_ms=30_000,
    )
    assert next(consumer).value == b"hello"
    consumer.close()


async def test_aiokafka(penstock_broker: Broker) -> None:
    topic, address = penstock_broker.topic(), penstock_broker.bootstrap
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=address) as producer:
        await producer.send_and_wait(topic, b"hello")
    async with aiokafka.AIOKafkaConsumer(
        topic, bootstrap_servers=address, group_id="readers", auto_offset_reset="earliest"
    ) as consumer:
        assert (await consumer.getone()).value == b"hello"
