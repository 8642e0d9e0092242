"""Reading a topic to its end, where a test knows how many messages that are."""

from __future__ import annotations

from typing import Any

from penstock import AsyncConsumer, Consumer
from penstock.sdk import Message

WAIT_S = 30.0
SOON_S = 0.5
"""After the last message that is expected. One more that must not be there is in the same log, and
comes right after it."""


def read(consumer: Consumer[Any], count: int) -> list[Message[Any]]:
    """So many, however long they take, and whatever else comes soon after them."""
    consumer.idle_timeout = WAIT_S if count else SOON_S
    found = []
    for message in consumer:
        found.append(message)
        if len(found) >= count:
            consumer.idle_timeout = SOON_S
    return found


async def read_async(consumer: AsyncConsumer[Any], count: int) -> list[Message[Any]]:
    consumer.consumer.idle_timeout = WAIT_S
    found = []
    async for message in consumer:
        found.append(message)
        if len(found) >= count:
            consumer.consumer.idle_timeout = SOON_S
    return found


def values(messages: list[Message[Any]]) -> list[Any]:
    return [message.value for message in messages]
