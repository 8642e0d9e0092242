"""What a message is made of before it is sent."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from itertools import count
from typing import Any

from penstock.sdk.checks import INT64_MAX, check_whole
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
        made = serializer.serialize(value)
        if not isinstance(made, bytes):
            raise TypeError(f"serialize() has returned {type(made).__name__} and not bytes")
        return made
    except Exception as error:
        raise NotSerializable(
            f"{about}: {type(value).__name__} cannot be made into bytes by "
            f"{type(serializer).__name__.lstrip('_')} ({error}); nothing was sent. Give a value of "
            "the right type, or another serializer"
        ) from error


def as_headers(given: HeadersGiven | None) -> Headers:
    if given is None:
        return []
    try:
        items = given.items() if isinstance(given, Mapping) else given
        return [(_name(name), _data(data)) for name, data in items]
    except (TypeError, ValueError) as error:
        raise NotSerializable(
            f"headers {given!r}: {error}; nothing was sent. Give names with text, bytes or None"
        ) from None


def _name(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError(f"the name {given!r} is no text")
    return given


def _data(given: object) -> bytes | None:
    if given is None or isinstance(given, bytes):
        return given
    if isinstance(given, str):
        return given.encode()
    raise TypeError(f"{given!r} is neither text nor bytes")


def stamp_ms(given: datetime | int | None) -> int:
    """Epoch milliseconds. A datetime without a zone would mean another time on each machine."""
    if given is None:
        return NOW
    if isinstance(given, datetime):
        if given.tzinfo is None:
            raise Misconfigured(f"timestamp={given!r} has no time zone: give an aware datetime")
        given = round(given.timestamp() * 1000)
    check_whole("timestamp", given, 0, INT64_MAX)
    return given


def message_id_source() -> Callable[[], bytes]:
    """Names that no other message has: of this producer, and numbered."""
    prefix, numbers = secrets.token_hex(12), count(1)

    def make() -> bytes:
        return f"{prefix}-{next(numbers)}".encode()

    return make
