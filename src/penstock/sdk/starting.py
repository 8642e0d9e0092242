"""Where a group begins to read a partition in which it has committed nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import confluent_kafka
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END

from penstock.sdk.errors import Misconfigured
from penstock.sdk.message import TopicPartition

Start = str | datetime | timedelta
EARLIEST, LATEST = "earliest", "latest"


def reset_word(start: Start) -> str:
    """librdkafka's setting; for a time, what is left where that time is past all messages."""
    if isinstance(start, datetime) and start.tzinfo is None:
        raise Misconfigured(f"start={start!r} has no time zone: give an aware datetime")
    if isinstance(start, timedelta) and start < timedelta(0):
        raise Misconfigured(f"start={start!r} is in the future: give how long ago, above zero")
    if isinstance(start, datetime | timedelta):
        return LATEST
    if start not in (EARLIEST, LATEST):
        raise Misconfigured(
            f'start={start!r} is not known: give "earliest", "latest", a datetime, or a timedelta '
            "for so long ago"
        )
    return start


def moved(rdkafka: Any, partitions: list[Any], start: datetime | timedelta, limit_s: float) -> None:
    """Gives those without a committed offset the first one at or after that time."""
    moment = datetime.now(UTC) - start if isinstance(start, timedelta) else start
    committed = rdkafka.committed(partitions, timeout=limit_s)
    fresh = {(each.topic, each.partition) for each in committed if each.offset < 0}
    asked = [each for each in partitions if (each.topic, each.partition) in fresh]
    for each in asked:
        each.offset = round(moment.timestamp() * 1000)
    found = rdkafka.offsets_for_times(asked, timeout=limit_s) if asked else []
    offsets = {(each.topic, each.partition): each.offset for each in found}
    for each in asked:
        each.offset = offsets[each.topic, each.partition]


def beginnings(
    rdkafka: Any, places: Sequence[TopicPartition], start: Start, limit_s: float
) -> dict[TopicPartition, int]:
    """Where a group goes on in these. Below zero is the beginning or the end of a partition."""
    asked = [confluent_kafka.TopicPartition(*place) for place in places]
    if isinstance(start, datetime | timedelta):
        moved(rdkafka, asked, start, limit_s)
    default = OFFSET_BEGINNING if start == EARLIEST else OFFSET_END
    known = {_place(each): each.offset for each in rdkafka.committed(asked, timeout=limit_s)}
    fresh = {_place(each): each.offset if each.offset >= 0 else default for each in asked}
    return {place: known[place] if known[place] >= 0 else fresh[place] for place in places}


def _place(each: Any) -> TopicPartition:
    return TopicPartition(each.topic, each.partition)
