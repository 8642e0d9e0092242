"""What a message is made of before it is sent."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from itertools import count
from typing import Any

from penstock.sdk.errors import Misconfigured, NotSerializable
from penstock.sdk.serializers import Serializer

NOW = 0
"""librdkafka takes the time."""

Headers = list[tuple[str, bytes | None]]
HeadersGiven = Mapping[str, bytes | str | None] | Iterable[tuple[str, bytes | str | None]]


def serialized(serializer: Serializer[Any], value: Any, about: str) -> bytes | None:
    """None stays None: that is a message without a key or value, and no value of some type."""
    if value is None:
        return None
    try:
        return serializer.serialize(value)
    except Exception as error:
        raise NotSerializable(
            f"{about}: {type(value).__name__} cannot be made into bytes by "
            f"{type(serializer).__name__.lstrip('_')} ({error}); nothing was sent. Give a value of "
            "the right type, or another serializer"
        ) from error


def as_headers(given: HeadersGiven | None) -> Headers:
    if given is None:
        return []
    items = given.items() if isinstance(given, Mapping) else given
    return [(name, data.encode() if isinstance(data, str) else data) for name, data in items]


def stamp_ms(given: datetime | int | None) -> int:
    """Epoch milliseconds. A datetime without a zone would mean another time on each machine."""
    if given is None:
        return NOW
    if isinstance(given, datetime):
        if given.tzinfo is None:
            raise Misconfigured(f"timestamp={given!r} has no time zone: give an aware datetime")
        return round(given.timestamp() * 1000)
    return given


def message_id_source() -> Callable[[], bytes]:
    """Names that no other message has: of this producer, and numbered."""
    prefix, numbers = secrets.token_hex(12), count(1)

    def make() -> bytes:
        return f"{prefix}-{next(numbers)}".encode()

    return make
