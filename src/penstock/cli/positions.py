"""Places in a topic as a user names them: `beginning`, `end`, an offset, a point in time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from penstock.client.cluster import WireClient

OFFSET_MAX = (1 << 63) - 1
FIRST_TIMESTAMP_MS = 1_000_000_000_000
"""A bare number from here on is a time (2001 and later, in ms); smaller ones are offsets."""


@dataclass(frozen=True, slots=True)
class Position:
    """Exactly one of the two is given; `timestamp_ms` may be one of ListOffsets' questions."""

    offset: int | None = None
    timestamp_ms: int | None = None


BEGINNING, END = Position(timestamp_ms=-2), Position(timestamp_ms=-1)
WORDS = {"beginning": BEGINNING, "end": END}


class PositionType(click.ParamType[Position]):
    name = "position"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Position:
        if isinstance(value, Position):
            return value
        if value in WORDS:
            return WORDS[value]
        if value.isdecimal() and int(value) <= OFFSET_MAX:
            number = int(value)
            if number >= FIRST_TIMESTAMP_MS:
                return Position(timestamp_ms=number)
            return Position(offset=number)
        time_ms = parse_time(value)
        if time_ms is None:
            self.fail(
                f"{value!r} is none of beginning, end, an offset, a time in ms since 1970, "
                "a time such as 2026-07-01T12:00:00Z",
                param,
                ctx,
            )
        return Position(timestamp_ms=time_ms)


def parse_time(text: str) -> int | None:
    """ISO 8601 as ms since 1970, in UTC unless it says otherwise; None if it is no such thing."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0, round(moment.timestamp() * 1000))


def locate(
    client: WireClient, topic: str, indexes: Iterable[int], position: Position
) -> dict[int, int]:
    """The offset that a position is in each partition; where no record is so late, the end."""
    from penstock.client.offsets import LATEST, ends, offsets_at  # noqa: PLC0415

    wanted = list(indexes)
    if position.offset is not None:
        return dict.fromkeys(wanted, position.offset)
    assert position.timestamp_ms is not None
    found = offsets_at(client, topic, dict.fromkeys(wanted, position.timestamp_ms))
    late = [index for index, each in found.items() if each.offset < 0]
    last = ends(client, topic, late, LATEST) if late else {}
    return {index: last.get(index, each.offset) for index, each in found.items()}


def chosen_partitions(client: WireClient, topic: str, asked_for: tuple[int, ...]) -> list[int]:
    """Those that were asked for, or all; a number that is not there is refused."""
    known = client.topic(topic).partitions
    for index in asked_for:
        if index not in known:
            raise click.ClickException(
                f"topic {topic} has no partition {index}, only 0 to {len(known) - 1}"
            )
    return sorted(set(asked_for)) if asked_for else list(known)
