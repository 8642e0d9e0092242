"""Finding records by time."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.log.making import TOPIC_ID, opened, put

from penstock.config import TopicConfig
from penstock.log.partition_log import PartitionLog
from penstock.wire.compression import Codec
from penstock.world.real_disk import RealDisk

SMALL_SEGMENTS = TopicConfig(segment_bytes=1024, index_interval_bytes=100)


@pytest.fixture
def timed(disk: RealDisk, folder: Path) -> PartitionLog:
    """Thirty batches of three records each, ten apart within a batch and a hundred between."""
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for number in range(30):
        at = 1000 + number * 100
        codec = Codec.GZIP if number % 2 else Codec.NONE
        put(log, *[b"x" * 40] * 3, at_ms=[at, at + 10, at + 20], epoch=number // 10, codec=codec)
    return log


def test_a_time_leads_to_the_first_record_that_is_not_older(timed: PartitionLog) -> None:
    assert timed.offset_for_timestamp(0, 90) == (1000, 0, 0)
    for number in range(30):
        at = 1000 + number * 100
        assert timed.offset_for_timestamp(at, 90) == (at, number * 3, number // 10)
        assert timed.offset_for_timestamp(at + 1, 90) == (at + 10, number * 3 + 1, number // 10)
        assert timed.offset_for_timestamp(at + 20, 90) == (at + 20, number * 3 + 2, number // 10)


def test_there_is_nothing_newer_than_the_newest_nor_past_the_limit(timed: PartitionLog) -> None:
    assert timed.offset_for_timestamp(3921, 90) is None
    assert timed.offset_for_timestamp(2000, 30) is None
    assert timed.offset_for_timestamp(2000, 31) == (2000, 30, 1)


def test_times_that_go_back_do_not_confuse_the_search(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    times = [50, 10, 90, 20, 70, 95, 30, 99, 5]
    for at in times * 4:
        put(log, b"x" * 60, at_ms=at)
    for target in range(101):
        wanted = next((i for i, at in enumerate(times * 4) if at >= target), None)
        found = log.offset_for_timestamp(target, 36)
        assert (found.offset if found else None) == wanted


def test_the_largest_timestamp_is_found_at_its_first_record(log: PartitionLog) -> None:
    assert log.max_timestamp() is None
    put(log, b"a", b"b", b"c", at_ms=[5, 9, 7])
    put(log, b"d", at_ms=9)
    assert log.max_timestamp() == (9, 1, 0)


def test_with_append_time_every_record_of_a_batch_has_the_same_time(
    disk: RealDisk, folder: Path
) -> None:
    config = TopicConfig(message_timestamp_type="LogAppendTime")
    log = PartitionLog(disk, str(folder), TOPIC_ID, config)
    put(log, b"a", b"b", at_ms=1, now_ms=100)
    put(log, b"c", b"d", at_ms=1, now_ms=200)
    assert log.offset_for_timestamp(101, 4) == (200, 2, 0)
    assert log.max_timestamp() == (200, 2, 0)


def test_times_are_found_after_a_crash_and_after_a_clean_stop(
    timed: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    recovered = opened(disk, str(folder), SMALL_SEGMENTS)
    assert recovered.offset_for_timestamp(2111, 90) == (2120, 35, 1)
    recovered.close()
    again = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    again.end_offset = again.written_end = 90
    assert again.offset_for_timestamp(2111, 90) == (2120, 35, 1)
    assert again.max_timestamp() == (3920, 89, 2)


def test_truncated_records_are_not_found_by_time(timed: PartitionLog) -> None:
    timed.truncate_to(60)
    assert timed.max_timestamp() == (2920, 59, 1)
    put(timed, b"new", at_ms=5000)
    assert timed.offset_for_timestamp(2921, 61) == (5000, 60, 0)


def test_deleted_records_are_not_found_by_time(timed: PartitionLog) -> None:
    timed.advance_start(10)
    assert timed.offset_for_timestamp(0, 90) == (1310, 10, 0)
