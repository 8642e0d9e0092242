"""Places in a topic as a user names them: `beginning`, `end`, an offset, a point in time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from penstock.client.positions import BEGINNING, END, OFFSET_MAX, Position

FIRST_TIMESTAMP_MS = 1_000_000_000_000
"""A bare number from here on is a time (2001 and later, in ms); smaller ones are offsets."""


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
