"""Topics, producers and consumers of the SDK against the shared broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.broker_process import BrokerProcess

from penstock import Consumer, Producer
from penstock.client.admin import create_topic
from penstock.client.cluster import WireClient

WAIT_S = 30.0
IDLE_S = 5.0
"""After which there is nothing more to read: a busy machine may stand still for some seconds."""


@pytest.fixture
def make_topic(broker: BrokerProcess, topic: str) -> Callable[..., str]:
    """A topic of the test's own, with so many partitions and these settings."""

    def make(partitions: int = 1, **settings: str) -> str:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        with WireClient(broker.address) as client:
            create_topic(client, topic, partitions, configs=named)
        return topic

    return make


@pytest.fixture
def producer(broker: BrokerProcess) -> Iterator[Producer]:
    with Producer(broker.address, tune="latency") as made:
        yield made


@pytest.fixture
def consumer_of(broker: BrokerProcess) -> Iterator[Callable[..., Consumer[Any]]]:
    """Makes consumers that end when nothing has come for a while, and are closed afterwards."""
    made: list[Consumer[Any]] = []

    def make(topics: Any, group: str = "readers", **options: Any) -> Consumer[Any]:
        options = {"tune": "latency", "idle_timeout": IDLE_S, **options}
        group = f"{group}-of-{topics}"
        made.append(Consumer(broker.address, topics, group=group, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()
