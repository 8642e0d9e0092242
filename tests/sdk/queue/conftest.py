"""Queues of a test's own on the shared broker."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock import Queue
from penstock.testing import Broker

WAIT_S = 30.0
_numbers = itertools.count(1)


@pytest.fixture
def name(penstock_broker: Broker) -> str:
    """Of a topic with one partition, and of its group."""
    found = f"queue-{next(_numbers)}"
    Queue.ensure(penstock_broker.bootstrap, found, partitions=1)
    return found


@pytest.fixture
def make(penstock_broker: Broker, name: str) -> Iterator[Callable[..., Queue[Any]]]:
    """Makes queues of that topic, which are closed afterwards."""
    made: list[Queue[Any]] = []

    def queue(**options: Any) -> Queue[Any]:
        made.append(Queue(penstock_broker.bootstrap, name, **options))
        return made[-1]

    yield queue
    for each in made:
        each.close()
