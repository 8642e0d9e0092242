"""What is to be replayed, and under which names."""

from __future__ import annotations

import pytest

from penstock.client.metadata import Partition, Topic
from penstock.spark.errors import SparkError
from penstock.spark.replay.plan import (
    Place,
    Wanted,
    check_progress,
    check_target,
    next_shares,
    note_of,
    place_of,
    replay_id,
    stretches,
)
from penstock.spark.replay.tasks import Job
from penstock.spark.tables.files import DataFile, Stretch

ALL = Wanted()


def target(partitions: int, open_partitions: int = -1) -> Topic:
    made = {index: Partition(index, 1, 0, (1,), (1,), ()) for index in range(partitions)}
    return Topic("copy", bytes(15) + b"\1", False, made, open_partitions)


def file(partition: int, first: int, end: int) -> DataFile:
    return DataFile("", partition, first, end, end - first, 1)


def test_each_partition_is_one_stretch_as_far_as_it_is_wanted() -> None:
    files = [file(1, 5, 9), file(0, 10, 20), file(0, 0, 10)]
    assert stretches(files, ALL, {}) == [Stretch(0, 0, 20), Stretch(1, 5, 9)]
    assert stretches(files, Wanted(7, 12), {}) == [Stretch(0, 7, 12), Stretch(1, 7, 9)]
    assert stretches(files, Wanted(9, None), {}) == [Stretch(0, 9, 20)]


def test_what_was_deleted_from_the_topic_is_not_replayed() -> None:
    files = [file(0, 0, 10), file(0, 10, 20), file(1, 5, 9)]
    deleted = {(0, ""): 12, (1, ""): 9}
    assert stretches(files, ALL, deleted) == [Stretch(0, 12, 20)]
    assert stretches(files, Wanted(15, None), deleted) == [Stretch(0, 15, 20)]


def test_rounds_go_on_where_partitions_stand() -> None:
    whole = [Stretch(0, 0, 20), Stretch(1, 5, 9), Stretch(2, 0, 4)]
    done = {(0, ""): 15, (2, ""): 4}
    assert next_shares(whole, done, 3) == [
        Stretch(0, 15, 18),
        Stretch(1, 5, 8),
    ]
    assert next_shares(whole, {(0, ""): 20, (1, ""): 9, (2, ""): 4}, 3) == []


def test_times_are_from_one_to_before_the_other() -> None:
    wanted = Wanted(time_ms_first=10, time_ms_end=12)
    assert [at for at in range(8, 14) if wanted.has_time(at)] == [10, 11]
    assert ALL.has_time(-1)


def test_the_same_command_has_the_same_name_and_another_has_not() -> None:
    names = {
        replay_id("t", target(1), ALL, by_key=False),
        replay_id("t", target(1), ALL, by_key=True),
        replay_id("t", target(1), Wanted(3), by_key=False),
        replay_id("u", target(1), ALL, by_key=False),
    }
    assert len(names) == 4
    assert replay_id("t", target(1), ALL, by_key=False) in names


def test_progress_is_kept_in_the_target_whatever_its_partitions() -> None:
    lane = (3, "ab" * 16)
    assert place_of("r", "copy", lane, by_key=False) == Place(
        "penstock-replay/r/3", "penstock-replay-r", "copy", 3
    )
    assert place_of("r", "copy", lane, by_key=True) == Place(
        "penstock-replay/r/abababab-3", "penstock-replay-r-abababab-3", "copy", 0
    )


def test_progress_is_of_the_partition_that_is_noted_with_it() -> None:
    check_progress("r", (3, "ab"), ALL, "ab")
    check_progress("r", (3, "ab"), ALL, "")
    with pytest.raises(SparkError, match="replay r has sent a partition 3 of another topic"):
        check_progress("r", (3, "ab"), ALL, "cd")


def test_progress_is_of_the_part_that_is_noted_with_it() -> None:
    late = Wanted(time_ms_first=5)
    check_progress("r", (3, "ab"), late, note_of((3, "ab"), late))
    for wanted, noted in ((ALL, late), (late, ALL), (Wanted(first=5), Wanted(end=5))):
        with pytest.raises(SparkError, match="replay r has sent another part of partition 3"):
            check_progress("r", (3, "ab"), wanted, note_of((3, "ab"), noted))


def test_a_target_must_be_another_topic_with_as_many_partitions() -> None:
    check_target(target(2), "ab", [0, 1], by_key=False)
    check_target(target(1), "ab", [0, 1], by_key=True)
    with pytest.raises(SparkError, match="has 2 partitions, and topic copy takes records in 1"):
        check_target(target(1), "ab", [0, 1], by_key=False)
    with pytest.raises(SparkError, match="takes records in 1"):
        check_target(target(2, 1), "ab", [0, 1], by_key=False)
    with pytest.raises(SparkError, match=r"two partitions 1.*--by-key"):
        check_target(target(3), "ab", [0, 1, 1], by_key=False)
    check_target(target(3), "ab", [0, 1, 1], by_key=True)
    with pytest.raises(SparkError, match="the one that was archived"):
        check_target(target(2), target(2).topic_id.hex(), [0], by_key=False)


def test_a_job_is_the_same_on_the_other_side() -> None:
    job = Job("a:1", 3.5, "/t", "copy", "r", True, 2, Wanted(1), [Stretch(0, 5, 9)])
    assert Job.from_json(job.to_json()) == job
