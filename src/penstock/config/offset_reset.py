"""Where a share group begins with a partition that it has not read: earliest, latest, or so long
ago (by_duration:PT1H)."""

from __future__ import annotations

import re

from penstock.config.units import DAY_MS, HOUR_MS, MINUTE_MS

EARLIEST, LATEST, BY_DURATION = "earliest", "latest", "by_duration:"
EARLIEST_TIMESTAMP, LATEST_TIMESTAMP = -2, -1
"""As ListOffsets has them."""

_UNITS_MS = {"days": DAY_MS, "hours": HOUR_MS, "minutes": MINUTE_MS, "seconds": 1000}
_DURATION = re.compile(
    r"P(?:(?P<days>[0-9]{1,9})D)?"
    r"(?:T(?=[0-9])(?:(?P<hours>[0-9]{1,9})H)?(?:(?P<minutes>[0-9]{1,9})M)?"
    r"(?:(?P<seconds>[0-9]{1,9}(?:\.[0-9]{1,9})?)S)?)?",
    re.ASCII | re.IGNORECASE,
)


def timestamp_of(text: str, now_ms: int) -> int:
    """The timestamp to look up the offset by. The text has been checked."""
    if text == EARLIEST:
        return EARLIEST_TIMESTAMP
    if text == LATEST:
        return LATEST_TIMESTAMP
    return max(now_ms - (_duration_ms(text) or 0), 0)


def problem_of(text: str) -> str | None:
    if text in (EARLIEST, LATEST) or _duration_ms(text) is not None:
        return None
    return (
        f"{text!r} is none of earliest, latest, and by_duration: with days, hours, minutes or "
        "seconds, such as by_duration:P1DT12H"
    )


def _duration_ms(text: str) -> int | None:
    if not text.startswith(BY_DURATION):
        return None
    found = _DURATION.fullmatch(text, len(BY_DURATION))
    parts = found.groupdict() if found else {}
    if not any(parts.values()):
        return None
    return int(sum(float(parts[unit] or 0) * ms for unit, ms in _UNITS_MS.items()))
