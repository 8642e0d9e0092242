"""Many messages that repeat: when they come next is looked for a few at a time, or off the loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.delays.test_schedule import every, new_log
from tests.delays.writing import carried_out, entries, put
from tests.log.making import NOW_MS

from penstock.delays.copies import Copies
from penstock.delays.folding import catch_up
from penstock.delays.schedule import CRONS_A_STEP, Schedule
from penstock.log.partition_log import PartitionLog
from penstock.log.steps import Apart, Steps

YEAR_MS = 366 * 86_400_000


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    return new_log(tmp_path)


def crons(count: int) -> list[Any]:
    return [every(b"%d %d 1 1 *" % (number % 60, number // 60)) for number in range(count)]


def waits(steps: Steps[None]) -> list[object]:
    """What they have waited for."""
    found: list[object] = []
    for wait in steps:
        found.append(wait)
        if isinstance(wait, Apart):
            wait.work()
    return found


def folded(log: PartitionLog) -> tuple[Schedule, list[object]]:
    schedule = Schedule()
    schedule.begin(0)
    return schedule, waits(catch_up(schedule, log, log.end_offset))


@pytest.mark.parametrize(("count", "is_apart"), [(CRONS_A_STEP, False), (CRONS_A_STEP + 1, True)])
def test_a_batch_with_many_is_looked_into_off_the_loop(
    log: PartitionLog, count: int, is_apart: bool
) -> None:
    put(log, crons(count))
    schedule, waited = folded(log)
    assert any(isinstance(each, Apart) for each in waited) == is_apart
    assert [each.id for each in entries(schedule)] == list(range(count))


def test_copies_of_many_are_made_with_pauses(log: PartitionLog) -> None:
    put(log, crons(200))
    schedule, _ = folded(log)
    copies = Copies(log, log.end_offset, entries(schedule), NOW_MS + 2 * YEAR_MS)
    assert len(waits(copies.read())) >= 200 // CRONS_A_STEP
    assert len(copies.found) == 200
    assert all(copy.next_ms is not None for copy in copies.found.values())
    assert not copies.missing


def test_those_that_do_not_repeat_need_no_such_pauses(log: PartitionLog) -> None:
    put(log, [((b"penstock-deliver-at", b"5"),)] * 90)
    schedule, _ = folded(log)
    copies = Copies(log, log.end_offset, entries(schedule), NOW_MS)
    carried_out(copies.read())
    again = Copies(log, log.end_offset, entries(schedule), NOW_MS)
    assert len(waits(again.read())) < 90 // CRONS_A_STEP
