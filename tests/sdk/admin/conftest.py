"""An Admin of the session's broker, and topics and groups for it to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import confluent_kafka
import pytest
from tests.group_stage import wait_until

from penstock import Admin
from penstock.testing import Broker

FIRST_MS = 1_700_000_000_000
"""When the first record of each partition was made; the others are a second apart."""
Running = Callable[[str, str], Any]


def moment(number: float) -> datetime:
    return datetime.fromtimestamp(FIRST_MS / 1000 + number, UTC)


@pytest.fixture
def admin(penstock_broker: Broker) -> Admin:
    return penstock_broker.admin


@pytest.fixture
def orders(penstock_broker: Broker) -> str:
    """Two partitions with four records each."""
    topic = penstock_broker.topic("orders", 2, retention_ms=-1)
    fill(penstock_broker.bootstrap, topic, 2, 4)
    return topic


@pytest.fixture
def group(orders: str) -> str:
    return f"group-of-{orders}"


@pytest.fixture
def running(penstock_broker: Broker) -> Running:
    """A context in which a group has one member, which has its partitions."""

    @contextmanager
    def run(group: str, topic: str) -> Iterator[None]:
        member = confluent_kafka.Consumer(
            {"bootstrap.servers": penstock_broker.bootstrap, "group.id": group, "client.id": "w"}
        )
        try:
            member.subscribe([topic])
            wait_until(lambda: member.poll(0.05) or member.assignment(), "an assignment")
            yield
        finally:
            member.close()

    return run


def fill(bootstrap: str, topic: str, partitions: int, count: int) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap})
    for partition in range(partitions):
        for number in range(count):
            at_ms = FIRST_MS + 1000 * number
            producer.produce(topic, str(number), partition=partition, timestamp=at_ms)
    assert producer.flush(30) == 0
