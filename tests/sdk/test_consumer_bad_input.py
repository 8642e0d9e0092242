"""Arguments of consumers that cannot be: refused at once, by name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from penstock import AsyncConsumer, Consumer
from penstock.sdk import Misconfigured

Make = Callable[..., Any]
NOWHERE = "127.0.0.1:1"


@pytest.mark.parametrize(
    "options",
    [
        {"deduplicate": -1},
        {"deduplicate": "many"},
        {"timeout": -1},
        {"idle_timeout": "long"},
        {"start": timedelta(hours=-1)},
        {"on_assign": 5},
        {"on_lost": "hook"},
        {"deserializer": None},
        {"key_deserializer": str},
    ],
    ids=str,
)
def test_an_option_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(Misconfigured, match=next(iter(options))):
        Consumer(NOWHERE, "topic", group="g", **options)


@pytest.mark.parametrize("size", [0, -1, "ten"])
def test_a_batch_of_no_size(consumer_of: Make, size: Any) -> None:
    consumer = consumer_of("topic")
    with pytest.raises(Misconfigured, match="max_messages"):
        next(consumer.batches(size))
    with pytest.raises(Misconfigured, match="max_messages"):
        consumer_of("topic", delivery="exactly-once").transactions(None, max_messages=size)


def test_an_offset_below_zero(consumer_of: Make) -> None:
    with pytest.raises(Misconfigured, match="offset"):
        consumer_of("topic").seek("topic", 0, -5)


@pytest.mark.parametrize("group", [3, b"readers", ["readers"]])
def test_what_is_no_name_of_a_group(group: Any) -> None:
    with pytest.raises(Misconfigured, match="group"):
        Consumer(NOWHERE, "topic", group=group)


@pytest.mark.parametrize("kind", [Consumer, AsyncConsumer])
def test_transactions_with_what_they_cannot_have(kind: Any) -> None:
    consumer = kind(NOWHERE, "topic", group="g", delivery="exactly-once")
    with pytest.raises(Misconfigured, match="Producer"):
        consumer.transactions("writer")
    with pytest.raises(Misconfigured, match="max_seconds"):
        consumer.transactions(None, max_seconds="long")
