"""Producers and readers of delayed messages, with real clients, and what must hold of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import confluent_kafka
import confluent_kafka.admin
from tests.group_process import WAIT_S
from tests.group_stage import administer

rdkafka: Any = confluent_kafka
NewTopic: Any = confluent_kafka.admin.NewTopic  # type: ignore[attr-defined]
"""Its types are not all there."""

AT, AFTER, CANCEL = "penstock-deliver-at", "penstock-delay-ms", "penstock-cancel"
ID, CRON, NEXT = "penstock-scheduled-id", "penstock-cron", "penstock-next-at"


class Read(NamedTuple):
    value: str
    key: str
    headers: dict[str, str]
    offset: int
    time_ms: int
    """Its timestamp."""
    seen_ms: float


def create(address: str, topic: str, replicas: int = 1, **configs: str) -> None:
    named = {name.replace("_", "."): value for name, value in configs.items()}
    made = NewTopic(topic, 1, replicas, config={"delayed.delivery": "true", **named})
    administer(address, lambda admin: admin.create_topics([made]))


def producer_of(address: str, **settings: Any) -> Any:
    return rdkafka.Producer({"bootstrap.servers": address, "log_level": 0, **settings})


def now_ms() -> int:
    return int(time.time() * 1000)


class Sent:
    """What was acknowledged, and where it is."""

    def __init__(self) -> None:
        self.offsets: dict[str, int] = {}
        self.refused: dict[str, int] = {}

    def note(self, error: Any, message: Any) -> None:
        value = message.value().decode()
        if error is None:
            self.offsets[value] = message.offset()
        else:
            self.refused[value] = error.code()


def send(
    producer: Any,
    sent: Sent,
    topic: str,
    value: str,
    headers: dict[str, str],
    key: str = "k",
    time_ms: int = 0,
) -> None:
    """With a timestamp, or that of now."""
    while True:
        try:
            producer.produce(
                topic,
                value.encode(),
                key=key,
                headers=list(headers.items()),
                partition=0,
                timestamp=time_ms,
                on_delivery=sent.note,
            )
            return
        except BufferError:
            producer.poll(0.1)


class Reader:
    """Of partition 0 from its start on, without a group."""

    def __init__(self, address: str, topic: str, **settings: Any) -> None:
        self._consumer = rdkafka.Consumer(
            {
                "bootstrap.servers": address,
                "group.id": f"readers-of-{topic}",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 50,
                "log_level": 0,
                **settings,
            }
        )
        self._consumer.assign([rdkafka.TopicPartition(topic, 0, 0)])
        self.found: list[Read] = []
        self._is_at_end = False

    @property
    def values(self) -> list[str]:
        return [each.value for each in self.found]

    def _poll(self) -> None:
        message = self._consumer.poll(0.2)
        if message is None:
            return
        if message.error():
            if message.error().code() == rdkafka.KafkaError._PARTITION_EOF:
                self._is_at_end = True
            return
        self._is_at_end = False
        headers = {name: value.decode() for name, value in message.headers() or []}
        key = (message.key() or b"").decode()
        value, time_ms = message.value().decode(), message.timestamp()[1]
        self.found.append(Read(value, key, headers, message.offset(), time_ms, time.time() * 1000))

    def until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + WAIT_S
        while not holds():
            assert time.monotonic() < deadline, f"in vain: {what}; {len(self.found)} were read"
            self._poll()

    def to_end(self) -> list[Read]:
        self._is_at_end = False
        self.until(lambda: self._is_at_end, "the end of the partition")
        return self.found

    def close(self) -> None:
        self._consumer.close()


def listed(address: str, topic: str) -> list[str]:
    return [each.value for each in held(address, topic)]


def held(address: str, topic: str) -> list[Read]:
    """By a reader that has seen nothing yet."""
    reader = Reader(address, topic + ".scheduled")
    try:
        return reader.to_end()
    finally:
        reader.close()
