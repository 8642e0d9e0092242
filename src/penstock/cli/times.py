"""Points in time and durations, as a user writes them."""

from __future__ import annotations

import re
from typing import Any

import click

from penstock.cli.positions import parse_time
from penstock.client.positions import OFFSET_MAX

_NUMBER = r"(\d+(?:\.\d+)?)"
_SHORT = re.compile(
    rf"(?:{_NUMBER}w)?(?:{_NUMBER}d)?(?:{_NUMBER}h)?(?:{_NUMBER}m)?(?:{_NUMBER}s)?(?:{_NUMBER}ms)?"
)
_ISO = re.compile(
    rf"p(?:{_NUMBER}w)?(?:{_NUMBER}d)?(?:t(?:{_NUMBER}h)?(?:{_NUMBER}m)?(?:{_NUMBER}s)?)?"
)
_UNITS_MS = (604_800_000, 86_400_000, 3_600_000, 60_000, 1000, 1)


class TimeType(click.ParamType[int]):
    """ISO 8601, or ms since 1970."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        time_ms = int(value) if value.isdecimal() else parse_time(value)
        if time_ms is None or time_ms > OFFSET_MAX:
            self.fail(
                f"{value!r} is no time: give ms since 1970, or such as 2026-07-01T12:00:00Z",
                param,
                ctx,
            )
        return time_ms


class DurationType(click.ParamType[int]):
    """In ms, from `1h30m` or `PT1H30M`. Months and years have no fixed length: there are none."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        text = value.lower()
        found = (_ISO if text.startswith("p") else _SHORT).fullmatch(text)
        numbers = found.groups() if found else ()
        if not any(numbers):
            self.fail(
                f"{value!r} is no duration: give one such as 90s, 1h30m, 2d or PT1H30M", param, ctx
            )
        whole = zip(numbers, _UNITS_MS, strict=False)
        return min(OFFSET_MAX, round(sum(float(each) * unit for each, unit in whole if each)))
