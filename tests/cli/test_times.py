"""Times and durations as users write them."""

from __future__ import annotations

import click
import pytest

from penstock.cli.output import duration_text
from penstock.cli.times import DurationType, TimeType


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("90s", 90_000),
        ("1h30m", 5_400_000),
        ("1.5h", 5_400_000),
        ("250ms", 250),
        ("2d", 172_800_000),
        ("1w1d", 691_200_000),
        ("0s", 0),
        ("PT1H30M", 5_400_000),
        ("pt0.5s", 500),
        ("P1DT2H", 93_600_000),
        ("P2W", 1_209_600_000),
    ],
)
def test_a_duration_is_read(text: str, duration_ms: int) -> None:
    assert DurationType().convert(text, None, None) == duration_ms


@pytest.mark.parametrize("text", ["", "90", "P", "PT", "P1M", "P1Y", "30m1h", "-1h", "1h 30m", "x"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is no duration"):
        DurationType().convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("0", 0),
        ("1500", 1500),
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-02", 86_400_000),
    ],
)
def test_a_time_is_read(text: str, time_ms: int) -> None:
    assert TimeType().convert(text, None, None) == time_ms


@pytest.mark.parametrize("text", ["", "soon", "-5", "9" * 30])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is no time"):
        TimeType().convert(text, None, None)


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1000, "1.0 s"),
        (12_345, "12.3 s"),
        (119_000, "119.0 s"),
        (120_000, "2.0 min"),
        (7_200_000, "2.0 h"),
        (216_000_000, "2.5 d"),
    ],
)
def test_a_duration_is_told_in_a_unit_that_suits_it(duration_ms: int, text: str) -> None:
    assert duration_text(duration_ms) == text
