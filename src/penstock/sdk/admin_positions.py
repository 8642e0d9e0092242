"""Places in a topic as a program names them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from penstock.client.positions import BEGINNING, END, OFFSET_MAX, Position
from penstock.sdk.errors import Misconfigured

To = Literal["earliest", "latest"] | int | datetime
"""The first record there is, past the last one, an offset, or the first record since a time."""


def position(to: To) -> Position:
    match to:
        case "earliest":
            return BEGINNING
        case "latest":
            return END
        case datetime():
            return Position(timestamp_ms=_ms(to))
        case int() if 0 <= to <= OFFSET_MAX and not isinstance(to, bool):
            return Position(offset=to)
    raise Misconfigured(
        f"{to!r} is no place in a topic: give 'earliest', 'latest', an offset or a datetime"
    )


def _ms(moment: datetime) -> int:
    if moment.tzinfo is None:
        raise Misconfigured(
            f"{moment!r} could be any of 24 hours: give it a time zone, as in "
            "datetime(2026, 7, 1, tzinfo=UTC)"
        )
    return max(0, round(moment.timestamp() * 1000))
