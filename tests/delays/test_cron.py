"""What a crontab's five fields say, against a search that tries every minute."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.delays.cron import BadCron, next_after, parse

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def ms(text: str) -> int:
    found = datetime.fromisoformat(text).replace(tzinfo=UTC) - EPOCH
    return found // timedelta(milliseconds=1)


def text_of(time_ms: int | None) -> str | None:
    if time_ms is None:
        return None
    return (EPOCH + timedelta(milliseconds=time_ms)).isoformat(" ", "minutes")[:16]


@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        ("* * * * *", "2026-03-01 10:00:00", "2026-03-01 10:01"),
        ("* * * * *", "2026-03-01 10:00:59.999", "2026-03-01 10:01"),
        ("*/5 * * * *", "2026-03-01 10:04:59", "2026-03-01 10:05"),
        ("*/5 * * * *", "2026-03-01 10:55", "2026-03-01 11:00"),
        ("30 9 * * mon-fri", "2026-03-06 09:30", "2026-03-09 09:30"),
        ("30 9 * * MON-Fri", "2026-03-06 09:29:59.999", "2026-03-06 09:30"),
        ("0 0 1 1 *", "2026-01-01 00:00", "2027-01-01 00:00"),
        ("0 0 29 feb *", "2027-03-01 00:00", "2028-02-29 00:00"),
        ("0 0 29 2 *", "2026-01-01 00:00", None),
        ("0 0 31 4,6,9,11 *", "2026-01-01 00:00", None),
        ("59 23 31 12 *", "2026-12-31 23:58:59", "2026-12-31 23:59"),
        ("0 12 13 * fri", "2026-03-01 00:00", "2026-03-06 12:00"),
        ("0 12 13 * fri", "2026-04-10 12:00", "2026-04-13 12:00"),
        ("0 12 */2 * fri", "2026-03-01 00:00", "2026-03-13 12:00"),
        ("0 12 13 * */7", "2026-03-01 00:00", "2026-09-13 12:00"),
        ("0 0 * * 7", "2026-03-02 00:00", "2026-03-08 00:00"),
        ("0 0 * * sat-sun", "2026-03-07 00:00", "2026-03-08 00:00"),
        ("0 0 * * */6", "2026-03-02 00:00", "2026-03-07 00:00"),
        ("5,10-20/5,50 8 * jan,Dec *", "2026-03-01 00:00", "2026-12-01 08:05"),
        (" 07\t08 09 10 * ", "2026-03-01 00:00", "2026-10-09 08:07"),
    ],
)
def test_the_next_time_is_the_first_one_after(cron: str, after: str, expected: str | None) -> None:
    assert text_of(next_after(cron.encode(), ms(after))) == expected


@pytest.mark.parametrize("time_ms", [-(1 << 61), 1 << 61, 253_402_300_799_999])
def test_times_that_no_calendar_has_are_followed_by_none(time_ms: int) -> None:
    assert next_after(b"* * * * *", time_ms) is None


def test_there_are_times_before_1970() -> None:
    assert next_after(b"* * * * *", -1) == 0
    assert next_after(b"0 0 31 12 *", -1) == ms("1970-12-31")


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("60 * * * *", "minute 60 is not 0 to 59"),
        ("* 25 * * *", "hour 25 is not 0 to 23"),
        ("* * 0 * *", "day-of-month 0 is not 1 to 31"),
        ("* * * 13 *", "month 13 is not 1 to 12 or jan to dec"),
        ("* * * * 8", "day-of-week 8 is not 0 to 7 or sun to sat"),
        ("* * * mon *", "month mon is not 1 to 12"),
        ("* * * * sunday", "day-of-week sunday is not 0 to 7"),
        ("* -1 * * *", "hour .nothing. is not 0 to 23"),
        ("1, * * * *", "minute .nothing. is not 0 to 59"),
        ("1.5 * * * *", "minute 1.5 is not 0 to 59"),
        ("000 * * * *", "minute 000 is not 0 to 59"),
        ("*/0 * * * *", "minute step 0 is not 1 to 59"),
        ("*/90 * * * *", "minute step 90 is not 1 to 59"),
        ("* */ * * *", "hour step .nothing. is not 1 to 23"),
        ("* 1-5/x * * *", "hour step x is not 1 to 23"),
        ("* 5/2 * * *", "hour 5/2: a step is taken through . or a range, as in 5-23/2"),
        ("* 22-2 * * *", "hour 22-2 runs backwards"),
        ("* 1-2-3 * * *", "hour 2-3 is not 0 to 23"),
        ("* ** * * *", r"hour \*\* is not 0 to 23"),
        ("* * * *", "it has 4 fields: give five, minute hour day-of-month month day-of-week"),
        ("* * * * * *", "it has 6 fields"),
        ("@daily", "it has 1 fields"),
        ("", "it has 0 fields"),
        ("\u0663 * * * *", "minute .* is not 0 to 59"),
        ("* * * * " + "1," * 46 + "1", "it has 101 bytes: give no more than 100"),
    ],
)
def test_what_is_wrong_is_told_with_its_field(cron: str, said: str) -> None:
    with pytest.raises(BadCron, match=said):
        parse(cron.encode())


@given(st.binary(max_size=120) | st.text("*/-,0123456789 amnoju", max_size=120).map(str.encode))
def test_any_bytes_are_a_cron_or_are_told_to_be_none(text: bytes) -> None:
    try:
        found = parse(text).next_after(0)
    except BadCron:
        return
    assert found is None or found > 0


class Naive:
    """A text and the sets of numbers that it stands for, made together."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        fields = [self.field(index) for index in range(5)]
        self.text = " ".join(text for text, _ in fields)
        self.minutes, self.hours, self.days, self.months, weekdays = (each for _, each in fields)
        self.weekdays = {each % 7 for each in weekdays}
        self.either = not any("*" in fields[index][0] for index in (2, 4))

    def field(self, index: int) -> tuple[str, set[int]]:
        if self.chance.random() < 0.4:
            return "*", set(range(BOUNDS[index][0], BOUNDS[index][1] + 1))
        parts = [self.part(index) for _ in range(self.chance.choice([1, 1, 2, 3]))]
        return ",".join(text for text, _ in parts), set().union(*(each for _, each in parts))

    def part(self, index: int) -> tuple[str, set[int]]:
        low, high = BOUNDS[index]
        first = self.chance.randint(low, high)
        last = self.chance.randint(first, high)
        step = self.chance.randint(1, high)
        kind = self.chance.randrange(4)
        if kind == 0:
            return self.named(index, first), {first}
        if kind == 1:
            top = 6 if index == 4 else high
            return f"*/{step}", set(range(low, top + 1, step))
        text = f"{self.named(index, first)}-{self.named(index, last)}"
        if kind == 2:
            return text, set(range(first, last + 1))
        return f"{text}/{step}", set(range(first, last + 1, step))

    def named(self, index: int, number: int) -> str:
        if index < 3 or self.chance.random() < 0.5:
            return str(number)
        names = MONTHS if index == 3 else [*WEEKDAYS, "7"]
        name = names[number - BOUNDS[index][0]]
        return self.chance.choice([name, name.upper(), name.title()])

    def has(self, at: datetime) -> bool:
        of_month, of_week = at.day in self.days, at.isoweekday() % 7 in self.weekdays
        return (
            at.minute in self.minutes
            and at.hour in self.hours
            and at.month in self.months
            and (of_month or of_week if self.either else of_month and of_week)
        )

    def next_after(self, time_ms: int, days: int) -> int | None:
        at = EPOCH + timedelta(minutes=time_ms // 60_000 + 1)
        end = at + timedelta(days=days)
        while at < end:
            if self.has(at):
                return (at - EPOCH) // timedelta(milliseconds=1)
            at += timedelta(minutes=1)
        return None


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 1 << 30), st.integers(0, ms("2100-01-01")))
def test_the_next_time_is_what_a_search_of_every_minute_finds(seed: int, time_ms: int) -> None:
    naive = Naive(seed)
    found = next_after(naive.text.encode(), time_ms)
    if found is not None:
        assert found > time_ms
        assert naive.has(EPOCH + timedelta(milliseconds=found))
    days = 40
    expected = naive.next_after(time_ms, days)
    if expected is not None or (found is not None and found - time_ms < days * 86_400_000):
        assert found == expected


@pytest.mark.parametrize("text", [b"0 0 31 2 *", b"0 0 */31 2 */7", b"* * * * *"])
@pytest.mark.parametrize("day", ["9998-10-31", "9998-11-01", "9998-12-28", "9999-12-31"])
def test_the_last_days_of_the_calendar_are_no_trouble(text: bytes, day: str) -> None:
    found = next_after(text, ms(day))
    assert found is None or found > ms(day)
