"""One producer as users run it: librdkafka, idempotent, acks=all, single messages of 1 KiB."""

from __future__ import annotations

import time

import confluent_kafka

COUNT = 60_000
VALUE = bytes(range(256)) * 4
POLLED_EVERY = 100


def messages_a_second(address: str, topic: str) -> float:
    """To all partitions of the topic, from the first message to the last report."""
    failed: list[object] = []

    def delivered(error: object, message: object) -> None:
        if error is not None:
            failed.append(error)

    producer = _producer(address)
    producer.list_topics(topic, timeout=30)  # connected, and knows who leads
    began = time.perf_counter()
    for number in range(COUNT):
        producer.produce(topic, VALUE, on_delivery=delivered)
        if number % POLLED_EVERY == 0:
            producer.poll(0)
    left = producer.flush(120)
    seconds = time.perf_counter() - began
    assert not left, "some were never delivered"
    assert not failed, failed[0]
    return COUNT / seconds


def _producer(address: str) -> confluent_kafka.Producer:
    return confluent_kafka.Producer(
        {
            "bootstrap.servers": address,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 5,
            "queue.buffering.max.messages": COUNT,
        }
    )
