"""Groups of consumers for the command line to look at: up, or down."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.broker_process import BrokerProcess

Lines = Callable[..., list[str]]

WAIT_S = 60
both_protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])


def consumer(broker: BrokerProcess, group: str, **settings: Any) -> Any:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": group,
            "client.id": "worker",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            **named,
        }
    )


@contextmanager
def running(broker: BrokerProcess, group: str, *topics: str, **settings: Any) -> Iterator[Any]:
    """A group with one member, which has its partitions."""
    member = consumer(broker, group, **settings)
    try:
        member.subscribe(list(topics))
        until = time.monotonic() + WAIT_S
        while not member.assignment():
            assert time.monotonic() < until, "nothing was assigned"
            member.poll(0.1)
        yield member
    finally:
        member.close()


def consumed(broker: BrokerProcess, group: str, topic: str, count: int) -> list[bytes]:
    """What a new member of the group gets first."""
    member = consumer(broker, group)
    member.subscribe([topic])
    values: list[bytes] = []
    until = time.monotonic() + WAIT_S
    while len(values) < count and time.monotonic() < until:
        message = member.poll(0.1)
        if message is not None:
            assert not message.error()
            values.append(message.value())
    member.close()
    return values


def commit(broker: BrokerProcess, group: str, topic: str, *offsets: int) -> None:
    """A group that is down, and in the first partitions of a topic at these offsets."""
    places = [TopicPartition(topic, index, offset) for index, offset in enumerate(offsets)]
    member = consumer(broker, group)
    member.commit(offsets=places, asynchronous=False)
    member.close()


def described(lines: Lines, group: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lines("group", "describe", group, "--json")[0])
    return found


def committed(lines: Lines, group: str) -> dict[tuple[str, int], int]:
    return {
        (each["topic"], each["partition"]): each["committed"]
        for each in described(lines, group)["partitions"]
    }
