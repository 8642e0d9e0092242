"""The chart of what was counted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import click

from penstock.cli.pipeline_chart import WINDOWS_MAX, chart

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_bars_are_as_long_as_counts_and_windows_are_named_once() -> None:
    later = START + timedelta(minutes=1)
    counts = {(START, "INFO"): 100, (START, "ERROR"): 10, (later, "INFO"): 1}
    assert [click.unstyle(line) for line in chart(counts)] == [
        f"2026-01-01 00:00:00  ERROR  {'█' * 5} 10",
        f"                     INFO   {'█' * 50} 100",
        "2026-01-01 00:01:00  INFO   █ 1",
    ]


def test_the_last_windows_are_shown() -> None:
    counts = {(START + timedelta(minutes=each), "INFO"): 1 for each in range(30)}
    lines = chart(counts)
    assert lines[0] == f"the last {WINDOWS_MAX} of 30 windows"
    assert len(lines) == WINDOWS_MAX + 1
    assert chart({}) == ["nothing was counted yet"]
