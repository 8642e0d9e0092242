"""A crash between any two steps of compaction, of its own or of the start that finishes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.log.compacting import (
    CONFIG,
    WITHOUT_RETENTION,
    compact,
    every_record,
    latest,
    roll_and_compact,
    write,
)
from tests.log.crashing import Crashes, WatchedDisk
from tests.log.making import NOW_MS, TOPIC_ID, copied, opened, put_marker, settle

from penstock.errors import Unusable
from penstock.log.partition_log import PartitionLog
from penstock.wire.records import Record
from penstock.world.real_disk import RealDisk


def a_written_log(disk: RealDisk, folder: Path) -> PartitionLog:
    """Values, tombstones, a producer, transactions; compacted once, and dirty again."""
    log = PartitionLog(disk, str(folder), TOPIC_ID, WITHOUT_RETENTION)
    for number in range(24):
        write(log, (b"k%d" % (number % 5), b"%d" % number * 50), (b"gone", b"%d" % number))
        if number == 12:
            write(log, (b"gone", None), (b"mine", b"1"), **by_seven(0))
            write(log, (b"k1", b"bad"), **by_eight(0))
            put_marker(log, 8, commit=False)
            roll_and_compact(log)
    write(log, (b"gone", None))
    write(log, (b"k2", b"bad"), **by_eight(1))
    put_marker(log, 8, commit=False)
    log.roll()
    write(log, (b"k4", b"last"))
    settle(log)
    return log


def by_seven(sequence: int) -> dict[str, int]:
    return {"producer_id": 7, "producer_epoch": 0, "base_sequence": sequence}


def by_eight(sequence: int) -> dict[str, int]:
    return {"producer_id": 8, "producer_epoch": 0, "base_sequence": sequence, "transactional": True}


def check(log: PartitionLog, original: list[Record], end: int) -> None:
    found = every_record(log)
    assert not log.damage
    assert log.end_offset == end
    assert [record for record in found if record not in original] == []
    assert latest(without_aborted(log, found)) == latest(r for r in original if r.value != b"bad")
    assert write(log, (b"gone", None), (b"mine", b"1"), **by_seven(0)).duplicate
    assert not log.producers.open_transactions()


def without_aborted(log: PartitionLog, found: list[Record]) -> list[Record]:
    aborted = log.aborted_between(0, log.end_offset)
    listed = [each for each in found if any(a[1] <= each.offset <= a[2] for a in aborted)]
    assert [each for each in found if each.value == b"bad"] == listed
    return [each for each in found if each not in listed]


@pytest.fixture
def watched() -> WatchedDisk:
    return WatchedDisk()


def test_a_crash_at_any_step_loses_nothing(
    watched: WatchedDisk, disk: RealDisk, folder: Path, tmp_path: Path
) -> None:
    log = a_written_log(watched, folder)
    original, end, synced = every_record(log), log.end_offset, log.synced_end
    crashes = Crashes(folder, tmp_path / "crashes")
    watched.before_change = crashes
    compact(log, now_ms=NOW_MS + 1)
    crashes()
    expected = [record for record in every_record(log) if record.value is not None]
    assert len(crashes.folders) > 20
    for place in crashes.folders:
        again = opened(disk, str(place), WITHOUT_RETENTION, synced)
        check(again, original, end)
        compact(again, now_ms=NOW_MS + 1)
        assert [record for record in every_record(again) if record.value is not None] == expected
        assert not [path for path in place.iterdir() if path.name.endswith((".swap", ".cleaned"))]
    watched.close()


def test_a_crash_while_the_start_finishes_the_work_loses_nothing(
    watched: WatchedDisk, disk: RealDisk, folder: Path, tmp_path: Path
) -> None:
    log = a_written_log(disk, folder)
    original, end, synced = every_record(log), log.end_offset, log.synced_end
    decided = decided_and_crashed(log, folder, tmp_path)
    crashes = Crashes(decided, tmp_path / "crashes")
    watched.before_change = crashes
    opened(watched, str(decided), WITHOUT_RETENTION, synced)
    assert len(crashes.folders) > 5
    for place in crashes.folders:
        check(opened(disk, str(place), WITHOUT_RETENTION, synced), original, end)
    watched.close()


def test_a_segment_that_nothing_is_left_of_takes_the_place_of_all_that_it_stands_for(
    disk: RealDisk, folder: Path, tmp_path: Path
) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, WITHOUT_RETENTION)
    for number in range(3):
        write(log, (b"gone", b"%d" % number))
        log.roll()
    write(log, (b"gone", None))
    log.roll()
    write(log, (b"stays", b"1"))
    settle(log)
    compact(log)  # the tombstone's time begins
    write(log, (b"stays", b"2"))
    log.roll()
    write(log, (b"stays", b"3"))
    settle(log)
    decided = decided_and_crashed(log, folder, tmp_path)
    again = opened(disk, str(decided), WITHOUT_RETENTION, log.synced_end)
    assert [segment.base for segment in again.segments] == [0, 6]
    assert (again.start_offset, again.end_offset) == (0, 7)
    assert {record.key for record in every_record(again)} == {b"stays"}


def decided_and_crashed(log: PartitionLog, folder: Path, tmp_path: Path) -> Path:
    """The folder when the new segment has just become the one that counts."""
    disk = WatchedDisk()
    again = opened(disk, str(copied(folder, tmp_path / "work")), CONFIG, log.synced_end)

    def stop_when_decided() -> None:
        if list((tmp_path / "work").glob("*.log.*.swap")):
            copied(tmp_path / "work", tmp_path / "decided")
            raise Unusable("crashed")

    disk.before_change = stop_when_decided
    with pytest.raises(Unusable):
        compact(again)
    return tmp_path / "decided"
