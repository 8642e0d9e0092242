"""Places in a topic, as whoever moves a group or cuts a topic names them."""

from __future__ import annotations

from dataclasses import dataclass

OFFSET_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Position:
    """Exactly one of the two is given; `timestamp_ms` may be one of ListOffsets' questions."""

    offset: int | None = None
    timestamp_ms: int | None = None


BEGINNING, END = Position(timestamp_ms=-2), Position(timestamp_ms=-1)
