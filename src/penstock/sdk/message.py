"""A message as it is handed out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

V = TypeVar("V")

ID_HEADER = "penstock-message-id"
SCHEDULED_HEADER = "penstock-scheduled-id"
Headers = list[tuple[str, bytes | None]]


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Message(msgspec.Struct, Generic[V], gc=False, eq=False, repr_omit_defaults=True):
    """Key and value are ready; the rest is asked of librdkafka when it is wanted, as most programs
    want little of it, and each question costs as much as handing the message out."""

    value: V
    key: Any
    raw: Any
    """librdkafka's own, with the bytes."""

    @property
    def topic(self) -> str:
        return str(self.raw.topic())

    @property
    def partition(self) -> int:
        return int(self.raw.partition())

    @property
    def offset(self) -> int:
        return int(self.raw.offset())

    @property
    def place(self) -> TopicPartition:
        return TopicPartition(self.raw.topic(), self.raw.partition())

    @property
    def headers(self) -> Headers:
        return self.raw.headers() or []

    @property
    def tags(self) -> dict[str, str]:
        """Headers whose values are text. Of those with one name, the last."""
        return {name: found for name, data in self.headers if (found := _text(data)) is not None}

    @property
    def timestamp_ms(self) -> int:
        """Since 1970; -1 where there is none."""
        return int(self.raw.timestamp()[1])

    @property
    def timestamp(self) -> datetime | None:
        stamp_ms = self.timestamp_ms
        return datetime.fromtimestamp(stamp_ms / 1000, UTC) if stamp_ms >= 0 else None

    @property
    def id(self) -> str | None:
        """What a producer with `message_ids=True` has named it."""
        return id_of(self.raw)

    @property
    def scheduled_id(self) -> int | None:
        """The offset at which it was sent, of a message that had to wait for its time."""
        for name, data in self.headers:
            if name == SCHEDULED_HEADER and data is not None and data.isdigit():
                return int(data)
        return None

    def __repr__(self) -> str:
        return (
            f"Message(topic={self.topic!r}, partition={self.partition}, offset={self.offset}, "
            f"key={self.key!r}, value={self.value!r})"
        )


def id_of(raw: Any) -> str | None:
    for name, data in raw.headers() or ():
        if name == ID_HEADER:
            return _text(data)
    return None


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


def kind_of(sources: Mapping[str, str] | None) -> type[Message[Any]]:
    """Of messages that come through views, if there are sources: they are of the topics that the
    program has asked for."""
    if sources is None:
        return Message
    shown = sources

    class Chosen(Message[Any], gc=False, eq=False):
        @property
        def topic(self) -> str:
            read_from = str(self.raw.topic())
            return shown.get(read_from, read_from)

    return Chosen
