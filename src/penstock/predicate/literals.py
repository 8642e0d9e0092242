"""Numbers and times as they are written: exactly, or not at all."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

from penstock.predicate.tokens import NUMBER_MAX

_NUMBER = re.compile(rb"[+-]?[0-9]+(?:\.[0-9]+)?")
_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?(?:(Z)|([+-])(\d\d):?(\d\d)))?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def number_in(value: bytes | None) -> Decimal | None:
    """What a header or a key says as a number, or None: Decimals compare without rounding."""
    if value is None or len(value) > NUMBER_MAX or not _NUMBER.fullmatch(value):
        return None
    return Decimal(value.decode())


def moment_in(text: str) -> int | None:
    """Milliseconds since 1970 of a time with its zone, or None. A date alone begins in UTC."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(each or 0) for each in found.groups()[:6])
    fraction, _, sign, hours, minutes = found.groups()[6:]
    ahead = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    try:
        zone = timezone(-ahead if sign == "-" else ahead)
        moment = datetime(year, month, day, hour, minute, second, tzinfo=zone)
    except ValueError:
        return None
    return (moment - _EPOCH) // _MILLISECOND + int((fraction or "").ljust(3, "0"))
