"""What a round archives, by numbers alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.ranges import Range
from penstock.spark.archive.plan import (
    ROWS_A_TASK_MIN,
    Pace,
    Situation,
    check_whole,
    into_tasks,
    lag_to,
    plan_round,
)
from penstock.spark.archive.tasks import Job
from penstock.spark.errors import SparkError
from penstock.spark.tables.files import DataFile, Lane

ID = bytes(range(16))


def situation(marks: dict[int, int], starts: dict[int, int], ends: dict[int, int]) -> Situation:
    """By the numbers of partitions of one topic."""
    return Situation("t", lanes(marks), lanes(starts), lanes(ends))


def lanes(numbers: dict[int, int]) -> dict[Lane, int]:
    return {(index, ID.hex()): number for index, number in numbers.items()}


def test_a_round_goes_from_the_marks_to_the_ends() -> None:
    now = situation({0: 5, 1: 7}, {0: 0, 1: 0, 2: 0}, {0: 9, 1: 7, 2: 3})
    plan = plan_round(now, now.ends, 100)
    assert plan.ranges == [Range("t", ID, 0, 5, 9), Range("t", ID, 2, 0, 3)]
    assert (plan.before, plan.after) == (lanes({0: 5}), lanes({0: 9, 2: 3}))
    assert now.lag == 7


def test_nothing_new_is_no_round() -> None:
    now = situation({0: 9}, {0: 0, 1: 0}, {0: 9, 1: 0})
    assert plan_round(now, now.ends, 100) == ([], {}, {})


def test_what_is_lost_is_told_and_passed_over() -> None:
    now = situation({0: 5, 1: 2}, {0: 8, 1: 4, 2: 6}, {0: 9, 1: 4, 2: 6})
    assert [each[:3] for each in now.lost] == [(0, 5, 8), (1, 2, 4), (2, 0, 6)]
    plan = plan_round(now, now.ends, 100)
    assert plan.ranges == [Range("t", ID, 0, 8, 9)]
    assert plan.before == lanes({0: 5, 1: 2})
    assert plan.after == lanes({0: 9, 1: 4, 2: 6})
    assert now.lag == 1


def test_a_partition_that_ends_before_its_mark_is_noticed() -> None:
    assert situation({0: 5, 1: 2}, {0: 0, 1: 0}, {0: 4, 1: 2}).behind_ends == [(0, ID.hex())]


def test_partitions_that_went_are_left_alone() -> None:
    now = situation({0: 5, 1: 2}, {0: 0}, {0: 9})
    assert plan_round(now, now.ends, 100).after == lanes({0: 9})


numbers = st.integers(0, 3 * ROWS_A_TASK_MIN)


@given(st.dictionaries(st.integers(0, 5), st.tuples(numbers, numbers)), st.integers(1, 100_000))
def test_rounds_follow_each_other_without_a_seam(
    counts: dict[int, tuple[int, int]], rows: int
) -> None:
    marks = {index: done for index, (done, _) in counts.items()}
    ends = {index: done + more for index, (done, more) in counts.items()}
    now = situation(marks, dict.fromkeys(counts, 0), ends)
    plan = plan_round(now, now.ends, rows)
    assert sum(each.end - each.start for each in plan.ranges) == min(rows, lag_to(now, now.ends))
    assert all(each.start == marks[each.partition] for each in plan.ranges)
    assert plan.after == lanes({each.partition: each.end for each in plan.ranges})
    tasks = into_tasks(plan.ranges, 2)
    assert len(tasks) <= 2
    files = [file(each) for task in tasks for each in task]
    check_whole(plan, files)
    if files:
        with pytest.raises(SparkError, match="nothing was committed"):
            check_whole(plan, files[:-1])
        with pytest.raises(SparkError, match="some offsets twice"):
            check_whole(plan, [*files, files[0]])


def file(place: Range) -> DataFile:
    return DataFile("", place.partition, place.start, place.end, 0, 0, log_id=ID.hex())


def test_a_job_is_the_same_on_the_other_side() -> None:
    job = Job("a:1", 3.5, "/t", [[Range("t", ID, 0, 5, 9)], [Range("t", ID, 1, 0, 2)]])
    assert Job.from_json(job.to_json()) == job


def test_the_pace_is_set_by_the_size_of_records() -> None:
    pace = Pace(1_000_000, 1 << 30)
    assert pace.rows == 20_000
    pace.note(20_000, 20_000 * 1024)
    assert pace.rows == 1_000_000
    pace.note(20_000, 20_000 << 20)
    assert pace.rows == 1024
    pace.note(0, 0)
    assert pace.rows == 1024
    assert Pace(100, 1 << 30).rows == 100
