"""The part of the demo in which a topic gets fewer partitions."""

from __future__ import annotations

import time
from collections.abc import Callable

import confluent_kafka
from confluent_kafka.admin import AdminClient

WAIT_S = 60

Run = Callable[..., None]


def reduce(address: str, topic: str, partitions: int, run: Run) -> bool:
    """Whether it has so many in the end: every group has read the others, so they can go."""
    run("topic", "alter", topic, "--partitions", str(partitions), "--when", "drained")
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until and _count(admin, topic) != partitions:
        time.sleep(0.2)
    run("topic", "describe", topic)
    return _count(admin, topic) == partitions


def _count(admin: AdminClient, topic: str) -> int:
    try:
        found = admin.list_topics(topic, timeout=10).topics[topic]
    except confluent_kafka.KafkaException:
        return -1
    return len(found.partitions)
