"""Snapshots of many producers, which a roll leaves to be written in steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.log.compacting import CONFIG, compact
from tests.log.crashing import Crashes, WatchedDisk
from tests.log.failing import FailingDisk, nothing
from tests.log.making import NOW_MS, TOPIC_ID, copied, opened, put, put_marker, settle
from tests.log.timing import drop_expired, finished

from penstock.config import TopicConfig
from penstock.log import producer_snapshot, snapshotting
from penstock.log.partition_log import PartitionLog
from penstock.log.producer_state import ProducerStates
from penstock.log.steps import Wait
from penstock.world.real_disk import RealDisk

PRODUCERS = range(10)
Known = dict[int, tuple[object, ...]]


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshotting, "AT_ONCE_MAX", 3)
    monkeypatch.setattr(snapshotting, "PRODUCERS_A_SLICE", 3)
    monkeypatch.setattr(producer_snapshot, "PRODUCERS_A_SLICE", 3)


@pytest.fixture
def watched() -> Iterator[WatchedDisk]:
    disk = WatchedDisk()
    yield disk
    disk.close()


def write_by_all(log: PartitionLog, sequence: int) -> None:
    for producer_id in PRODUCERS:
        put(log, b"v", producer_id=producer_id, producer_epoch=0, base_sequence=sequence)


def known(states: ProducerStates) -> Known:
    return {
        each.id: (each.epoch, each.batches, each.txn_first_offset, each.coordinator_epoch)
        for each in states.settled()
    }


def snapshots(log: PartitionLog) -> list[int]:
    names = Path(log.folder).glob("*.snapshot")
    return sorted(int(path.stem) for path in names)


def write_held(log: PartitionLog) -> None:
    finished(log, log.write_held_snapshot())


def recovered(disk: RealDisk, log: PartitionLog, tmp_path: Path) -> PartitionLog:
    """What a crash at this moment would leave."""
    place = copied(Path(log.folder), tmp_path / "crashed")
    return opened(disk, str(place), log.config, log.synced_end)


def test_a_roll_leaves_the_snapshot_of_many_producers_for_later(log: PartitionLog) -> None:
    write_by_all(log, 0)
    log.roll()
    assert snapshots(log) == []
    write_held(log)
    assert snapshots(log) == [10]
    assert log.held_snapshot is None
    write_held(log)
    assert snapshots(log) == [10]


def test_a_snapshot_has_what_was_known_at_the_roll_whatever_is_appended_while_it_is_written(
    log: PartitionLog, folder: Path
) -> None:
    put(log, b"v", producer_id=77, producer_epoch=0, base_sequence=0, transactional=True)
    write_by_all(log, 0)
    log.roll()
    at_roll = known(log.producers)
    put_marker(log, 77, commit=False)
    sequences = iter(range(1, 1000))

    def between(_wait: Wait) -> None:
        write_by_all(log, next(sequences))
        list(log.producers.expire(NOW_MS, 1 << 40))

    finished(log, log.write_held_snapshot(), between)
    assert next(sequences) > 5, "it must take several steps"
    path = folder / "00000000000000000011.snapshot"
    read = producer_snapshot.decode(path.read_bytes(), "path")
    assert read is not None
    assert known(read) == at_roll
    assert known(log.producers) != at_roll


@pytest.mark.parametrize("synced", [False, True])
def test_a_crash_at_any_point_loses_nothing_of_what_is_known_of_producers(
    watched: WatchedDisk, disk: RealDisk, folder: Path, tmp_path: Path, synced: bool
) -> None:
    log = PartitionLog(watched, str(folder), TOPIC_ID, TopicConfig())
    for sequence in range(3):
        write_by_all(log, sequence)
        log.roll()
        if sequence == 0:
            write_held(log)
    put(log, b"v", producer_id=77, producer_epoch=0, base_sequence=0, transactional=True)
    settle(log)
    wanted = known(log.producers)
    crashes = Crashes(folder, tmp_path / "crashes")
    watched.before_change = crashes
    log.roll()
    finished(log, log.write_held_snapshot(), lambda _wait: crashes())
    log.close()
    crashes()
    assert len(crashes.folders) > 6
    for place in crashes.folders:
        again = opened(disk, str(place), TopicConfig(), log.synced_end if synced else 0)
        assert known(again.producers) == wanted


def test_of_two_rolls_the_later_ones_snapshot_is_written(log: PartitionLog) -> None:
    write_by_all(log, 0)
    log.roll()
    steps = log.write_held_snapshot()
    next(steps)
    write_by_all(log, 1)
    log.roll()
    finished(log, steps)
    assert snapshots(log) == []
    write_held(log)
    assert snapshots(log) == [20]
    assert not list(Path(log.folder).glob("*.tmp"))


def test_a_snapshot_of_what_is_cut_off_meanwhile_is_not_kept(log: PartitionLog) -> None:
    write_by_all(log, 0)
    log.roll()
    steps = log.write_held_snapshot()
    next(steps)
    log.truncate_to(5)
    finished(log, steps)
    assert snapshots(log) == []
    assert set(log.producers.producers) == set(range(5))
    assert not list(Path(log.folder).glob("*.tmp"))


@pytest.mark.parametrize("after", [1, 9, 100])
def test_a_log_that_is_deleted_meanwhile_is_no_failure(
    log: PartitionLog, folder: Path, after: int
) -> None:
    write_by_all(log, 0)
    log.roll()
    steps, number = log.write_held_snapshot(), 0

    def between(_wait: Wait) -> None:
        nonlocal number
        number += 1
        if not log.is_deleted and (number == after or callable(_wait)):
            folder.rename(folder.with_name("gone"))
            log.is_deleted = True

    finished(log, steps, between)
    assert log.is_deleted
    assert not list(folder.with_name("gone").glob("*.snapshot"))


def test_a_snapshot_that_cannot_be_written_is_tried_again(folder: Path) -> None:
    disk = FailingDisk()
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    write_by_all(log, 0)
    log.roll()
    for failing in ("write", "rename"):
        disk.fails = lambda verb, path, bad=failing: verb == bad and ".snapshot" in path  # type: ignore[misc]
        with pytest.raises(OSError, match=failing):
            write_held(log)
        assert snapshots(log) == []
    disk.fails = nothing
    write_held(log)
    assert snapshots(log) == [10]
    disk.close()


def test_a_clean_stop_leaves_no_snapshot_to_be_written(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    write_by_all(log, 0)
    log.roll()
    put(log, b"v")
    log.close()
    assert log.held_snapshot is None
    assert snapshots(log) == [11]
    again = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    again.end_offset = again.written_end = 11
    again.open()
    assert known(again.producers) == known(log.producers)


# -- dropping segments


@pytest.fixture
def rolled(log: PartitionLog) -> PartitionLog:
    """Segments at 0, 10, 20 and 30, with a snapshot at 10; the others are still to be written."""
    for sequence in range(3):
        for producer_id in PRODUCERS:
            number = producer_id + 100 * sequence  # each in one segment only
            put(log, b"v", producer_id=number, producer_epoch=0, base_sequence=0)
        log.roll()
        if not sequence:
            write_held(log)
    put(log, b"last")
    settle(log)
    return log


def test_delete_records_leaves_segments_that_producers_are_known_from_alone(
    rolled: PartitionLog, disk: RealDisk, tmp_path: Path
) -> None:
    rolled.advance_start(31)
    assert rolled.start_offset == 31
    assert [segment.base for segment in rolled.segments] == [10, 20, 30]
    assert known(recovered(disk, rolled, tmp_path).producers) == known(rolled.producers)


def test_retention_drops_them_once_the_snapshot_is_written(
    rolled: PartitionLog, disk: RealDisk, tmp_path: Path
) -> None:
    rolled.advance_start(31)
    drop_expired(rolled, NOW_MS, 31)
    assert [segment.base for segment in rolled.segments] == [30]
    assert snapshots(rolled) == [30]
    assert known(recovered(disk, rolled, tmp_path).producers) == known(rolled.producers)


def test_retention_of_all_there_is_keeps_what_is_known_of_producers(
    rolled: PartitionLog, disk: RealDisk, tmp_path: Path
) -> None:
    rolled.config = replace(rolled.config, retention_ms=1)
    drop_expired(rolled, NOW_MS + 1000, 31)
    assert [segment.base for segment in rolled.segments] == [31]
    assert known(recovered(disk, rolled, tmp_path).producers) == known(rolled.producers)


def test_retention_goes_on_as_far_as_it_can_when_there_is_no_room_for_a_snapshot(
    rolled: PartitionLog, disk: RealDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_full(_path: str, _data: bytes) -> None:
        raise OSError("no space left")

    rolled.config = replace(rolled.config, retention_ms=1)
    monkeypatch.setattr(disk, "write_whole", is_full)
    drop_expired(rolled, NOW_MS + 1000, 30)
    assert [segment.base for segment in rolled.segments] == [10, 20, 30]
    monkeypatch.undo()
    assert known(recovered(disk, rolled, tmp_path).producers) == known(rolled.producers)


def test_compaction_writes_it_before_it_removes_older_ones(
    rolled: PartitionLog, disk: RealDisk, tmp_path: Path
) -> None:
    rolled.config = CONFIG
    compact(rolled)
    assert snapshots(rolled) == [30]
    assert known(recovered(disk, rolled, tmp_path).producers) == known(rolled.producers)


# -- encoding


def test_a_snapshot_made_in_slices_is_the_same(log: PartitionLog) -> None:
    write_by_all(log, 0)
    write_by_all(log, 1)
    producers = log.producers.settled()
    parts = finished(log, producer_snapshot.encoded(producers))
    assert len(parts) > 5
    assert b"".join(parts) == producer_snapshot.encode(producers)


def test_the_snapshot_before_stays_until_the_next_since_a_new_one_is_not_synced_yet(
    log: PartitionLog,
) -> None:
    put(log, b"v")
    log.close()
    put(log, b"v")
    log.close()
    assert snapshots(log) == [1, 2]
    put(log, b"v")
    log.close()
    assert snapshots(log) == [2, 3]
