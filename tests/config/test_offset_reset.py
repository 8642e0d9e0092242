"""Where share groups begin, as their settings have it."""

from __future__ import annotations

import pytest

from penstock.config import GROUP_SETTINGS
from penstock.config.offset_reset import problem_of, timestamp_of
from penstock.errors import Refused

NOW_MS = 1_750_000_000_000
HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("text", "ago_ms"),
    [
        ("by_duration:PT1H", HOUR_MS),
        ("by_duration:P1DT12H", 36 * HOUR_MS),
        ("by_duration:PT90M", HOUR_MS * 3 // 2),
        ("by_duration:PT0.5S", 500),
        ("by_duration:PT0S", 0),
        ("by_duration:P999999999DT999999999H", NOW_MS),
    ],
)
def test_a_duration_is_a_time_before_now(text: str, ago_ms: int) -> None:
    assert problem_of(text) is None
    assert timestamp_of(text, NOW_MS) == NOW_MS - ago_ms


def test_both_ends_are_known_as_list_offsets_knows_them() -> None:
    assert (timestamp_of("earliest", NOW_MS), timestamp_of("latest", NOW_MS)) == (-2, -1)


@pytest.mark.parametrize(
    "text",
    [
        *("", "none", "Latest", "by_duration", "by_duration:", "by_duration:P", "by_duration:PT"),
        *("by_duration:P1DT", "by_duration:-PT1H", "by_duration:PT-1H", "by_duration:1h"),
        *("by_duration:P1Y", "by_duration:PT1H ago", "by_duration:PT\N{ARABIC-INDIC DIGIT ONE}H"),
    ],
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Refused, match="such as by_duration:P1DT12H"):
        GROUP_SETTINGS["share.auto.offset.reset"].parse(text)
