"""When a message comes again: "minute hour day-of-month month day-of-week", in UTC.

As in a crontab: `*`, numbers, ranges, lists and steps, and names of months and days in any case.
Where both days are given, a day that is either will do; where one of them is said with a `*`, it
must be both, and `*` alone is any day.
"""

from __future__ import annotations

from bisect import bisect_left
from datetime import date
from functools import lru_cache
from typing import NamedTuple

BYTES_MAX = 100
MINUTE_MS = 60_000
DAY_MINUTES = 24 * 60
DAYS_MAX = 367
"""That are looked at: a year, the day that some have more, and the one on which it begins."""
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_LAST_DAY = date(9998, 11, 1).toordinal()
"""To begin from: so there is a month after all that are looked at."""
_KEPT = 4000
"""Texts, and fields, of which it is remembered what they mean."""

_EMPTY = "(nothing)"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


class BadCron(ValueError):
    """A text that says no times, with the field named that is wrong."""


class Field(NamedTuple):
    name: str
    first: int
    last: int
    names: tuple[str, ...] = ()
    """Of the numbers from the first one on."""


MINUTE, HOUR = Field("minute", 0, 59), Field("hour", 0, 23)
DAY, MONTH = Field("day-of-month", 1, 31), Field("month", 1, 12, _MONTHS)
WEEKDAY = Field("day-of-week", 0, 7, _WEEKDAYS)
FIELDS = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)


class Cron(NamedTuple):
    """Numbers are in ascending order."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    """From 0, which is Sunday, to 6."""
    either: bool
    """Whether one of the days will do."""

    def next_after(self, time_ms: int) -> int | None:
        """The first time after this one, in ms since 1970; None where a year has none."""
        number, minute = divmod(time_ms // MINUTE_MS + 1, DAY_MINUTES)
        number += _EPOCH_DAY
        if not 0 < number <= _LAST_DAY:
            return None
        end, on_first = number + DAYS_MAX, self._time_from(minute)
        if on_first is None:
            number += 1
        while number < end:
            day = date.fromordinal(number)
            if day.month not in self.months or not (days := self._days_from(day)):
                number, on_first = _next_month(day), None
                continue
            found = number + (days & -days).bit_length() - 1
            if found >= end:
                return None
            at = on_first if on_first is not None and found == number else self._first_time
            return ((found - _EPOCH_DAY) * DAY_MINUTES + at) * MINUTE_MS
        return None

    def _days_from(self, day: date) -> int:
        """Those of its month that are meant, as bits; it is the lowest."""
        left = _next_month(day) - day.toordinal()
        of_month = _bits(self.days) >> day.day
        of_week = _week_bits(self.weekdays, day.isoweekday() % 7)
        return (of_month | of_week if self.either else of_month & of_week) & ((1 << left) - 1)

    @property
    def _first_time(self) -> int:
        return self.hours[0] * 60 + self.minutes[0]

    def _time_from(self, start: int) -> int | None:
        """The first one of a day, in minutes, that is not before a start."""
        hour, minute = divmod(start, 60)
        if hour in self.hours and minute <= self.minutes[-1]:
            return hour * 60 + self.minutes[bisect_left(self.minutes, minute)]
        later = bisect_left(self.hours, hour + 1)
        return self.hours[later] * 60 + self.minutes[0] if later < len(self.hours) else None


def _next_month(day: date) -> int:
    years, month = divmod(day.month, 12)
    return date(day.year + years, month + 1, 1).toordinal()


@lru_cache(_KEPT)
def _bits(numbers: tuple[int, ...]) -> int:
    return sum(1 << number for number in numbers)


@lru_cache(_KEPT)
def _week_bits(weekdays: tuple[int, ...], first: int) -> int:
    """Of as many days as a month has, from one on that is such a weekday."""
    return sum(1 << number for number in range(31) if (first + number) % 7 in weekdays)


@lru_cache(_KEPT)
def parse(text: bytes) -> Cron:
    """BadCron where it is none."""
    if len(text) > BYTES_MAX:
        raise BadCron(f"it has {len(text)} bytes: give no more than {BYTES_MAX}")
    parts = text.decode("ascii", "backslashreplace").lower().split()
    if len(parts) != len(FIELDS):
        names = " ".join(field.name for field in FIELDS)
        raise BadCron(f"it has {len(parts)} fields: give five, {names}, as in 30 9 * * mon-fri")
    either = "*" not in parts[2] and "*" not in parts[4]
    minutes, hours, days, months, weekdays = map(_numbers, range(len(FIELDS)), parts)
    return Cron(minutes, hours, days, months, weekdays, either)


def next_after(text: bytes, time_ms: int) -> int | None:
    """The same for a text of the log: it was looked at when it came, and no other is ever due."""
    try:
        return parse(text).next_after(time_ms)
    except BadCron:
        return None


@lru_cache(_KEPT)
def _numbers(index: int, text: str) -> tuple[int, ...]:
    """Of one of the fields."""
    field = FIELDS[index]
    found = {number for part in text.split(",") for number in _stretch(field, part)}
    return tuple(sorted({number % 7 for number in found} if field is WEEKDAY else found))


def _stretch(field: Field, text: str) -> range:
    """`*`, a number or a range, and perhaps a step."""
    whole, slash, step = text.partition("/")
    low, dash, high = whole.partition("-")
    if whole == "*":
        first, last = field.first, field.last
        if field is WEEKDAY:
            last = 6  # 7 is Sunday once more, which a step must not meet
    else:
        first = _number(field, low)
        last = _number(field, high) if dash else first
        if slash and not dash:
            raise BadCron(
                f"{field.name} {text}: a step is taken through * or a range, as in "
                f"{low}-{field.last}/{step}"
            )
    if field is WEEKDAY and last == 0 < first:
        last = 7  # a range may end with Sunday
    if last < first:
        raise BadCron(f"{field.name} {whole} runs backwards: give two ranges with a comma")
    return range(first, last + 1, _step(field, step) if slash else 1)


def _number(field: Field, text: str) -> int:
    if text in field.names:
        return field.names.index(text) + field.first
    number = _decimal(text)
    if number is None or not field.first <= number <= field.last:
        names = f" or {field.names[0]} to {field.names[-1]}" if field.names else ""
        raise BadCron(f"{field.name} {text or _EMPTY} is not {field.first} to {field.last}{names}")
    return number


def _step(field: Field, text: str) -> int:
    number = _decimal(text)
    if number is None or not 1 <= number <= field.last:
        raise BadCron(f"{field.name} step {text or _EMPTY} is not 1 to {field.last}")
    return number


def _decimal(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= 2 else None
