"""Time indexes that mislead: nothing is deleted, or passed over, because of one."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from tests.log.compacting import CONFIG, roll_and_compact
from tests.log.compacting import filled as filled_with_keys
from tests.log.making import NOW_MS, TOPIC_ID, copied, put, settle
from tests.log.test_timestamps import ColdDisk
from tests.log.timing import drop_expired, finished, newest, since

from penstock.config import TopicConfig
from penstock.log.newest import sure_newest
from penstock.log.partition_log import PartitionLog
from penstock.log.segment import Unsure
from penstock.log.steps import Wait
from penstock.log.time_index import ENTRY_SIZE
from penstock.world.real_disk import RealDisk

INDEXED = TopicConfig(segment_bytes=2048, index_interval_bytes=300, retention_ms=1_000_000)
COUNT = 46
TIMES = [NOW_MS + number * 1000 for number in range(COUNT)]


@pytest.fixture
def filled(disk: RealDisk, folder: Path) -> Path:
    """Records, a second apart, in segments of about ten; cleanly closed."""
    log = PartitionLog(disk, str(folder), TOPIC_ID, INDEXED)
    for number in range(COUNT):
        put(log, b"%03d" % number * 30, at_ms=TIMES[number])
    settle(log)
    log.close()
    return folder


def started(disk: RealDisk, folder: Path, count: int = COUNT) -> PartitionLog:
    log = PartitionLog(disk, str(folder), TOPIC_ID, INDEXED)
    log.end_offset = log.written_end = log.synced_end = log.recovery_point = count
    log.open()
    return log


def assert_times_are_found(log: PartitionLog) -> None:
    for offset, time_ms in enumerate(TIMES):
        assert since(log, time_ms - 500, COUNT) == (time_ms, offset, 0)
    assert newest(log) == (TIMES[-1], COUNT - 1, 0)
    half = finished(log, log.max_timestamp(COUNT // 2))
    assert half == (TIMES[COUNT // 2 - 1], COUNT // 2 - 1, 0)


def spoil(folder: Path, number: int, how: str) -> None:
    path = sorted(folder.glob("*.timeindex"))[number]
    data = path.read_bytes()
    assert len(data) > 2 * ENTRY_SIZE
    if how == "zeroed":
        path.write_bytes(bytes(len(data)))
    elif how == "cut":
        path.write_bytes(data[:ENTRY_SIZE])
    else:
        path.write_bytes(
            data[:ENTRY_SIZE] + data[2 * ENTRY_SIZE :] + data[ENTRY_SIZE:][:ENTRY_SIZE]
        )


@pytest.mark.parametrize("how", ["zeroed", "cut", "shuffled"])
@pytest.mark.parametrize("number", [0, 1, -1])
def test_a_spoiled_time_index_deletes_nothing_and_hides_nothing(
    disk: RealDisk, filled: Path, number: int, how: str
) -> None:
    spoil(filled, number, how)
    copy = copied(filled, filled.parent / "copy-0")
    log = started(disk, filled)
    assert drop_expired(log, TIMES[-1] + 1000, COUNT) == []
    assert_times_are_found(log)
    assert_times_are_found(started(disk, copy))


@pytest.mark.parametrize("bit", range(0, 8 * ENTRY_SIZE, 5))
@pytest.mark.parametrize("entry", [0, 1, -1])
def test_one_flipped_bit_in_a_time_index_deletes_nothing_and_hides_nothing(
    disk: RealDisk, filled: Path, entry: int, bit: int
) -> None:
    path = sorted(filled.glob("*.timeindex"))[0]
    data = bytearray(path.read_bytes())
    data[(entry * ENTRY_SIZE) % len(data) + bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    log = started(disk, filled)
    assert drop_expired(log, TIMES[-1] + 1000, COUNT) == []
    assert_times_are_found(log)


def test_a_time_index_from_the_future_keeps_nothing_for_ever(disk: RealDisk, filled: Path) -> None:
    path = sorted(filled.glob("*.timeindex"))[0]
    data = bytearray(path.read_bytes())
    data[-ENTRY_SIZE] |= 0x40
    path.write_bytes(data)
    log = started(disk, filled)
    assert drop_expired(log, TIMES[-1] + 2_000_000, COUNT) != []
    assert log.start_offset == COUNT


def test_the_last_batches_are_enough_where_they_are_the_newest(
    disk: RealDisk, filled: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = started(disk, filled)
    first, second = log.segments[:2]
    assert sure_newest(first, cold_ok=False) == TIMES[second.base - 1]
    assert first.offsets is None, "its indexes were not loaded for it"
    assert not caplog.records


def test_where_the_newest_is_not_among_the_last_its_indexes_lead_there(
    disk: RealDisk, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, INDEXED)
    for number in range(COUNT):
        put(log, b"%03d" % number * 30, at_ms=TIMES[-1 - number])
    log.close()
    log = started(disk, folder)
    with pytest.raises(Unsure):
        sure_newest(log.segments[0], cold_ok=False)
    assert newest(log) == (TIMES[-1], 0, 0)
    assert sure_newest(log.segments[0], cold_ok=False) == TIMES[-1]
    assert not caplog.records, "nothing was wrong, so nothing is made again"


def test_a_long_look_is_taken_in_steps_and_off_the_loop_where_it_is_cold(folder: Path) -> None:
    disk = ColdDisk()
    config = TopicConfig(retention_ms=1000)
    log = PartitionLog(disk, str(folder), TOPIC_ID, config)
    for number in range(5000):
        put(log, b"x", at_ms=NOW_MS - number)
    log.roll().file.append([])
    log.close()
    log = started(disk, folder, 5000)
    waits: list[Wait] = []
    finished(log, log.max_timestamp(5000), waits.append)
    assert len(waits) > 5
    assert log.segments[0].newest_is_sure


def test_every_segment_that_goes_leaves_a_line(
    disk: RealDisk, filled: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    log = started(disk, filled)
    bases = [segment.base for segment in log.segments]
    size = log.segments[0].size
    log.advance_start(bases[1])
    expected = f"{filled}: segment 0 of {size} bytes goes: records below {bases[1]} were deleted"
    assert [record.getMessage() for record in caplog.records] == [expected]
    caplog.clear()
    drop_expired(log, TIMES[bases[2] - 1] + 1_000_001, COUNT)
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith(f"{filled}: segment {bases[1]} of ")
    assert line.endswith(": retention.ms=1000000")


def test_so_does_each_that_compaction_replaces(
    disk: RealDisk, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    log = filled_with_keys(PartitionLog(disk, str(folder), TOPIC_ID, CONFIG))
    roll_and_compact(log)
    gone = [record.getMessage() for record in caplog.records]
    assert len(gone) > 2
    assert all(" goes: it is compacted, into the one of " in line for line in gone)
