"""Dropping old segments: by time, by size, on request."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.log.making import NOW_MS, TOPIC_ID, a_batch, all_values, opened, put
from tests.log.timing import drop_expired, finished

from penstock.config import TopicConfig
from penstock.errors import ErrorCode, Refused
from penstock.log.partition_log import PartitionLog
from penstock.log.retention import Hold
from penstock.log.steps import Sync, Wait
from penstock.wire import batch as batches
from penstock.world.real_disk import RealDisk

FOREVER = TopicConfig(segment_bytes=1024, retention_ms=-1)


@pytest.fixture
def aged(disk: RealDisk, folder: Path) -> PartitionLog:
    """Forty records, a second apart, in segments of about five."""
    log = PartitionLog(disk, str(folder), TOPIC_ID, FOREVER)
    for number in range(40):
        put(log, b"x" * 100, at_ms=NOW_MS + number * 1000)
    return log


def test_segments_are_kept_until_their_newest_record_is_too_old(aged: PartitionLog) -> None:
    aged.config = replace(FOREVER, retention_ms=10_000)
    second = aged.segments[1].base
    newest_of_first = NOW_MS + (second - 1) * 1000
    assert drop_expired(aged, newest_of_first + 10_000, 40) == []
    files = drop_expired(aged, newest_of_first + 10_001, 40)
    assert aged.start_offset == second
    assert all(Path(path).exists() and path.endswith(".deleted") for path in files)
    assert {Path(path).suffixes[0] for path in files} == {".log", ".index", ".timeindex"}


def test_retention_by_time_also_works_after_a_start_that_has_loaded_no_index(
    aged: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    aged.close()
    log = PartitionLog(disk, str(folder), TOPIC_ID, replace(FOREVER, retention_ms=10_000))
    log.end_offset = log.written_end = 40
    drop_expired(log, NOW_MS + 30_000, 40)
    assert 10 < log.start_offset <= 20
    assert all_values(log)[0][0] == log.start_offset


def test_the_last_segment_goes_too_when_all_of_it_has_expired(
    aged: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    aged.config = replace(FOREVER, retention_ms=10_000)
    drop_expired(aged, NOW_MS + 1_000_000, 40)
    assert (aged.start_offset, aged.end_offset, aged.size_bytes) == (40, 40, 0)
    assert opened(disk, str(folder), FOREVER).end_offset == 40
    assert put(aged, b"next").base_offset == 40
    assert drop_expired(aged, NOW_MS - 1, 41) == []


def test_where_the_log_ends_is_synced_off_the_loop_before_all_of_it_goes(
    aged: PartitionLog, folder: Path
) -> None:
    aged.config = replace(FOREVER, retention_ms=10_000)
    waits: list[Wait] = []

    def between(wait: Wait) -> None:
        waits.append(wait)
        assert not list(folder.glob("*.deleted"))
        assert (folder / "00000000000000000040.log").exists()
        put(aged, b"meanwhile", at_ms=NOW_MS + 1_000_000)

    finished(aged, aged.expire(NOW_MS + 1_000_000, 40), between)
    (wait,) = waits
    assert isinstance(wait, Sync)
    assert wait.folders == [str(folder)]
    assert str(folder / "00000000000000000040.snapshot") in {file.path for file in wait.files}
    assert all_values(aged) == [(40, b"meanwhile")]


def without_times(log: PartitionLog, *values: bytes) -> None:
    batch = a_batch(*values, at_ms=-1)
    log.append(batch, batches.read_header(batch), NOW_MS, 0)
    log.write_out()


def test_records_without_a_time_are_as_old_as_their_file(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, replace(FOREVER, retention_ms=10_000))
    for _ in range(20):
        without_times(log, b"x" * 100)
    for number in range(20):
        put(log, b"x" * 100, at_ms=NOW_MS + number)
    timeless = [path for path in sorted(folder.glob("*.log")) if int(path.stem) < 20]
    assert len(timeless) > 1
    for path in timeless:
        os.utime(path, ns=(0, NOW_MS * 1_000_000))
    assert drop_expired(log, NOW_MS + 10_000, 40) == []
    drop_expired(log, NOW_MS + 11_000, 40)
    assert log.start_offset == 40


def test_segments_go_while_the_log_stays_at_least_as_large_as_asked(aged: PartitionLog) -> None:
    aged.config = replace(FOREVER, retention_bytes=3000)
    first = aged.segments[0].size
    total = aged.size_bytes
    drop_expired(aged, NOW_MS, 40)
    assert 3000 <= aged.size_bytes < 3000 + first < total


def test_nothing_above_the_high_watermark_is_dropped(aged: PartitionLog) -> None:
    aged.config = replace(FOREVER, retention_ms=1)
    drop_expired(aged, NOW_MS + 1_000_000, 7)
    assert 0 < aged.start_offset <= 7


def test_a_compacted_topic_keeps_what_time_would_drop(aged: PartitionLog) -> None:
    aged.config = replace(FOREVER, cleanup_policy=("compact",), retention_ms=1, retention_bytes=0)
    assert drop_expired(aged, NOW_MS + 1_000_000, 40) == []


def test_deleted_records_cannot_be_read_and_whole_segments_of_them_go(aged: PartitionLog) -> None:
    third = aged.segments[2].base
    files = aged.advance_start(third + 1)
    assert len(files) >= 4
    assert (aged.start_offset, aged.segments[0].base) == (third + 1, third)
    with pytest.raises(Refused) as refused:
        aged.read(third, 1000, 40)
    assert refused.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert all_values(aged)[0][0] == third + 1
    assert aged.advance_start(3) == []
    with pytest.raises(Refused):
        aged.advance_start(41)


def test_those_who_are_reading_a_dropped_segment_go_on(aged: PartitionLog) -> None:
    found = aged.read(0, 10_000, 40)
    assert found is not None
    before = found.range.file.read(0, found.range.length)
    aged.advance_start(40)
    found.range.file.close()  # as the disk does when too many are open
    assert found.range.file.read(0, found.range.length) == before


def test_epochs_below_the_start_are_merged_into_the_one_it_lies_in(log: PartitionLog) -> None:
    for epoch in (1, 2, 2, 5):
        put(log, b"a", epoch=epoch)
    log.advance_start(2)
    assert log.epochs.entries == [(2, 2), (5, 3)]
    assert log.epoch_end_offset(1) == (1, 2)


# -- held for an archive


def held(log: PartitionLog, archived: int, **more: Any) -> Hold:
    """After retention that would take everything, and an archive that has some."""
    log.config = replace(FOREVER, retention_ms=10_000, retention_hold_for_archive=True, **more)
    hold = Hold(archived)
    finished(log, log.expire(NOW_MS + 1_000_000, 40, hold))
    return hold


def test_what_is_not_archived_is_kept(aged: PartitionLog) -> None:
    third = aged.segments[2].base
    assert held(aged, third) == Hold(third, held_from=third)
    assert aged.start_offset == third
    assert held(aged, aged.segments[1].base - 1) == Hold(aged.segments[1].base - 1, held_from=third)
    assert aged.start_offset == third


def test_what_no_archive_has_is_all_kept_by_size_too(aged: PartitionLog) -> None:
    assert held(aged, -1, retention_bytes=0) == Hold(-1, held_from=0)
    assert aged.start_offset == 0


def test_all_goes_that_is_archived(aged: PartitionLog) -> None:
    assert held(aged, 40) == Hold(40)
    assert (aged.start_offset, aged.size_bytes) == (40, 0)


def test_what_retention_keeps_is_not_said_to_be_held(aged: PartitionLog) -> None:
    aged.config = replace(FOREVER, retention_ms=10_000_000)
    hold = Hold(-1)
    finished(aged, aged.expire(NOW_MS + 1_000_000, 40, hold))
    assert hold == Hold(-1)


def test_above_the_limit_the_first_go_although_they_are_not_archived(aged: PartitionLog) -> None:
    first = aged.segments[0].size
    hold = held(aged, 2, retention_hold_max_bytes=3000)
    assert 3000 - first < aged.size_bytes <= 3000
    assert hold == Hold(2, held_from=aged.start_offset, lost=aged.start_offset - 2)


def test_the_limit_takes_nothing_that_retention_keeps(aged: PartitionLog) -> None:
    aged.config = replace(
        FOREVER, retention_bytes=3000, retention_hold_for_archive=True, retention_hold_max_bytes=0
    )
    finished(aged, aged.expire(NOW_MS, 40, Hold(-1)))
    assert aged.size_bytes >= 3000


def test_records_that_are_deleted_are_not_held(aged: PartitionLog) -> None:
    aged.config = replace(FOREVER, retention_hold_for_archive=True)
    aged.advance_start(40)
    hold = Hold(-1)
    finished(aged, aged.expire(NOW_MS, 40, hold))
    assert (hold.held_from, hold.lost, len(aged.segments)) == (None, 0, 1)
