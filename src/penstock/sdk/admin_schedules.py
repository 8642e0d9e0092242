"""Messages that wait for their time: which there are, and taking them back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

from penstock.client import scheduling
from penstock.errors import ErrorCode
from penstock.sdk.admin_line import Line
from penstock.sdk.admin_values import ScheduledMessage
from penstock.sdk.checks import INT64_MAX, check_text, check_whole
from penstock.sdk.errors import NotScheduled

LIMIT_MAX = 1_000_000


class Sent(Protocol):
    """Where a message was sent to: what `Sending.result` and `Schedules.list` give."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...


class Schedules:
    def __init__(self, line: Line) -> None:
        self._line = line

    def list(self, topic: str, limit: int = 1000) -> tuple[ScheduledMessage, ...]:
        """Those that are due first, in that order. All that wait are looked at for it."""
        check_text("topic", topic)
        check_whole("limit", limit, 1, LIMIT_MAX)
        with self._line.open() as client:
            found = scheduling.list_scheduled(client, topic, limit)
        return tuple(_message(topic, each) for each in found.first)

    def cancel(self, sent: Sent) -> None:
        """It is not delivered. NotScheduled: it was, or was cancelled before."""
        check_text("topic", sent.topic)
        check_whole("partition", sent.partition, 0)
        check_whole("offset", sent.offset, 0, INT64_MAX)
        place = (sent.partition, sent.offset)
        with self._line.open() as client:
            for _, error in scheduling.cancel(client, sent.topic, [place]):
                if error is None:
                    continue
                if error.code is ErrorCode.INVALID_RECORD:
                    raise NotScheduled(error.said, error.code.name)
                raise error


def _message(topic: str, each: scheduling.Scheduled) -> ScheduledMessage:
    return ScheduledMessage(
        topic=topic,
        partition=each.partition,
        offset=each.offset,
        due=datetime.fromtimestamp(each.due_ms / 1000, UTC),
        repeat=each.cron,
        key=each.key,
        headers=tuple((name.decode(errors="replace"), data) for name, data in each.headers),
        size_bytes=each.size_bytes,
    )
