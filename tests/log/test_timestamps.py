"""Finding records by time."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.log.compacting import CONFIG, roll_and_compact, write
from tests.log.making import TOPIC_ID, opened, put
from tests.log.timing import finished, newest, since

from penstock.config import TopicConfig
from penstock.log import timestamps
from penstock.log.log_dir import LogDir
from penstock.log.partition_log import PartitionLog
from penstock.log.steps import Wait
from penstock.wire import batch as batches
from penstock.wire.batch_builder import build_batch
from penstock.wire.compression import Codec
from penstock.wire.records import Record
from penstock.world.ports import Cold
from penstock.world.real_disk import RealDisk
from penstock.world.real_file import RealFile

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
    assert since(timed, 0, 90) == (1000, 0, 0)
    for number in range(30):
        at = 1000 + number * 100
        assert since(timed, at, 90) == (at, number * 3, number // 10)
        assert since(timed, at + 1, 90) == (at + 10, number * 3 + 1, number // 10)
        assert since(timed, at + 20, 90) == (at + 20, number * 3 + 2, number // 10)


def test_there_is_nothing_newer_than_the_newest_nor_past_the_limit(timed: PartitionLog) -> None:
    assert since(timed, 3921, 90) is None
    assert since(timed, 2000, 30) is None
    assert since(timed, 2000, 31) == (2000, 30, 1)


@pytest.mark.parametrize("segment_bytes", [400, 1 << 20])
@pytest.mark.parametrize("is_reopened", [False, True])
def test_the_newest_record_is_one_that_is_not_deleted(
    disk: RealDisk, folder: Path, segment_bytes: int, is_reopened: bool
) -> None:
    config = TopicConfig(segment_bytes=segment_bytes, index_interval_bytes=100)
    log = PartitionLog(disk, str(folder), TOPIC_ID, config)
    times = [90, 95, 80, 99, 20, 60, 50, 70, 40, 70, 10, 30, 20, 5, 7, 7, 1, 3]
    for at in range(0, len(times), 3):
        put(log, b"a", b"b", b"c", at_ms=times[at : at + 3])
    for start in range(len(times)):
        log.advance_start(start)
        if is_reopened:
            log.close()
            log = PartitionLog(disk, str(folder), TOPIC_ID, config)
            log.start_offset = start
            log.end_offset = log.written_end = log.synced_end = len(times)
        largest = max(times[start:])
        assert newest(log) == (largest, times.index(largest, start), 0)
    log.advance_start(len(times))
    assert newest(log) is None


def test_times_that_go_back_do_not_confuse_the_search(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    times = [50, 10, 90, 20, 70, 95, 30, 99, 5]
    for at in times * 4:
        put(log, b"x" * 60, at_ms=at)
    for target in range(101):
        wanted = next((i for i, at in enumerate(times * 4) if at >= target), None)
        found = since(log, target, 36)
        assert (found.offset if found else None) == wanted


def test_the_largest_timestamp_is_found_at_its_first_record(log: PartitionLog) -> None:
    assert newest(log) is None
    put(log, b"a", b"b", b"c", at_ms=[5, 9, 7])
    put(log, b"d", at_ms=9)
    assert newest(log) == (9, 1, 0)


def test_with_append_time_every_record_of_a_batch_has_the_same_time(
    disk: RealDisk, folder: Path
) -> None:
    config = TopicConfig(message_timestamp_type="LogAppendTime")
    log = PartitionLog(disk, str(folder), TOPIC_ID, config)
    put(log, b"a", b"b", at_ms=1, now_ms=100)
    put(log, b"c", b"d", at_ms=1, now_ms=200)
    assert since(log, 101, 4) == (200, 2, 0)
    assert newest(log) == (200, 2, 0)


def test_times_are_found_after_a_crash_and_after_a_clean_stop(
    timed: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    recovered = opened(disk, str(folder), SMALL_SEGMENTS)
    assert since(recovered, 2111, 90) == (2120, 35, 1)
    recovered.close()
    again = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    again.end_offset = again.written_end = 90
    assert since(again, 2111, 90) == (2120, 35, 1)
    assert newest(again) == (3920, 89, 2)


def test_truncated_records_are_not_found_by_time(timed: PartitionLog) -> None:
    timed.truncate_to(60)
    assert newest(timed) == (2920, 59, 1)
    put(timed, b"new", at_ms=5000)
    assert since(timed, 2921, 61) == (5000, 60, 0)


def test_deleted_records_are_not_found_by_time(timed: PartitionLog) -> None:
    timed.advance_start(10)
    assert since(timed, 0, 90) == (1310, 10, 0)


# In steps

TIMES = st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=4), min_size=1, max_size=40)


@given(TIMES, st.integers(0, 160), st.integers(0, 160), st.data())
def test_whatever_the_times_the_first_record_is_found(
    times: list[list[int]], start: int, before: int, data: st.DataObject
) -> None:
    disk = RealDisk()
    with TemporaryDirectory() as folder:
        log = PartitionLog(disk, f"{folder}/orders-0", TOPIC_ID, SMALL_SEGMENTS)
        for each in times:
            codec = data.draw(st.sampled_from([Codec.NONE, Codec.ZSTD]))
            put(log, *[b"x" * 30] * len(each), at_ms=each, codec=codec)
        log.advance_start(min(start, log.end_offset))
        flat = list(enumerate(at for each in times for at in each))[log.start_offset :]
        for target in range(32):
            wanted = next(((at, n, 0) for n, at in flat if at >= target and n < before), None)
            first = next(((at, n, 0) for n, at in flat if at >= target), None)
            assert since(log, target, before) == (wanted if wanted == first else None)
        disk.close()


@given(TIMES, st.data())
def test_the_largest_timestamp_is_that_of_what_may_be_seen(
    times: list[list[int]], data: st.DataObject
) -> None:
    disk = RealDisk()
    with TemporaryDirectory() as folder:
        log = PartitionLog(disk, f"{folder}/orders-0", TOPIC_ID, SMALL_SEGMENTS)
        ends = [0]
        for each in times:
            put(log, *[b"x" * 30] * len(each), at_ms=each)
            ends.append(log.end_offset)
        flat = [(at, n, 0) for n, at in enumerate(at for each in times for at in each)]
        for end in ends:
            wanted = max(flat[:end], key=lambda each: (each[0], -each[1]), default=None)
            assert finished(log, log.max_timestamp(end)) == wanted
        disk.close()


def test_a_long_search_has_many_steps(log: PartitionLog) -> None:
    """Equal times tell the index nothing, so all of these headers are looked at."""
    for _ in range(3000):
        put(log, b"x", at_ms=100)
    put(log, b"y", at_ms=101)
    steps: list[Wait] = []
    found = finished(log, log.offset_for_timestamp(101, 3001), steps.append)
    assert found == (101, 3000, 0)
    assert steps.count(None) == 3000 // timestamps.SLICE_HEADERS
    assert len(steps) == steps.count(None) + 1


def test_segments_without_anything_so_new_are_passed_by_in_steps(
    disk: RealDisk, folder: Path
) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig(segment_bytes=1024))
    for number in range(150):
        put(log, b"x" * 900, at_ms=number)
    assert len(log.segments) == 150
    steps: list[Wait] = []
    assert finished(log, log.offset_for_timestamp(149, 150), steps.append) == (149, 149, 0)
    assert steps.count(None) == 2
    assert finished(log, log.max_timestamp(150), steps.append) == (149, 149, 0)


def bomb(log: PartitionLog, size: int) -> None:
    records = [Record(0, 5, None, b"first"), Record(1, 9, None, bytes(size))]
    built = build_batch(records, codec=Codec.ZSTD)
    log.append(built, batches.read_header(built), 9, 3)
    log.write_out()


def test_a_batch_that_would_take_too_much_memory_is_not_opened(log: PartitionLog) -> None:
    put(log, b"before", at_ms=1)
    bomb(log, 100 << 20)
    tracemalloc.start()
    assert since(log, 8, 3) == newest(log) == (9, 1, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 << 20
    log.advance_start(2)
    assert since(log, 8, 3) == (9, 2, 3)


def test_a_batch_that_cannot_be_read_counts_as_a_whole(log: PartitionLog) -> None:
    put(log, b"before", at_ms=1)
    header = batches.read_header(build_batch([Record(0, 5, None, b"x"), Record(1, 9, None, b"y")]))
    for section, codec in (b"no records", Codec.NONE), (b"no frame", Codec.LZ4):
        built = batches.seal(header._replace(attributes=codec), section)
        log.append(built, batches.read_header(built), 9, 0)
    log.write_out()
    assert since(log, 6, 5) == (9, 1, 0)
    log.advance_start(3)
    assert since(log, 6, 5) == (9, 3, 0)


def test_small_records_take_no_memory_of_their_own(log: PartitionLog) -> None:
    built = build_batch([Record(n, n, None, b"") for n in range(200_000)])
    log.append(built, batches.read_header(built), 9, 0)
    log.write_out()
    tracemalloc.start()
    assert since(log, 199_999, 200_000) == (199_999, 199_999, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * len(built)


# While the log changes


@pytest.fixture
def long(disk: RealDisk, folder: Path, monkeypatch: pytest.MonkeyPatch) -> PartitionLog:
    """A hundred batches, the last of which is newer than all others; a step for each two."""
    monkeypatch.setattr(timestamps, "SLICE_HEADERS", 2)
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig(index_interval_bytes=100))
    for _ in range(99):
        put(log, b"x" * 60, at_ms=100)
    put(log, b"new", at_ms=200)
    return log


@pytest.mark.parametrize("after", [1, 10, 40])
def test_a_search_goes_on_in_what_a_truncation_leaves(long: PartitionLog, after: int) -> None:
    steps = long.offset_for_timestamp(200, 100)
    for _ in range(after):
        assert next(steps) is None
    long.truncate_to(30)
    put(long, b"a larger batch " * 20, b"of two", at_ms=300)
    expected = (300, 30, 0) if 2 * after <= 30 else None
    assert finished(long, steps) == expected


def test_a_search_goes_on_after_records_were_deleted(long: PartitionLog) -> None:
    steps = long.offset_for_timestamp(100, 100)
    opening = next(steps)
    long.roll()
    long.advance_start(50)
    assert callable(opening)
    opening()
    assert finished(long, steps) == (100, 50, 0)


def test_a_search_ends_when_the_log_is_deleted(disk: RealDisk, tmp_path: Path) -> None:
    log_dir = LogDir(disk, str(tmp_path), cluster_id="cluster", node_id=1)
    log = log_dir.log_for("orders", 0, TOPIC_ID, SMALL_SEGMENTS)
    for number in range(40):
        put(log, b"x" * 60, at_ms=number)
    for steps in log.offset_for_timestamp(39, 40), log.offset_for_timestamp(50, 40):
        next(steps)
        log_dir.delete_log("orders", 0, TOPIC_ID)
        finished(log, steps)
    assert since(log, 0, 40) is None
    log_dir.abandon()


def test_a_search_goes_on_in_compacted_segments(
    disk: RealDisk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timestamps, "SLICE_HEADERS", 2)
    log = PartitionLog(disk, str(folder), TOPIC_ID, CONFIG)
    for number in range(60):
        write(log, (b"k%d" % (number % 5), b"x" * 100), at_ms=1000 + (number == 57))
    steps = log.offset_for_timestamp(1001, 60)
    assert next(steps) is None
    roll_and_compact(log)
    assert finished(log, steps) == (1001, 57, 0)
    between = log.max_timestamp(60)
    next(between)
    write(log, (b"k2", b"instead"), at_ms=1000)
    roll_and_compact(log)
    assert finished(log, between) in [(1001, 57, 0), (1000, 55, 0)]


class ColdFile(RealFile):
    """Nothing is in memory before it was asked for."""

    def read_cached(self, position: int, length: int) -> bytes:
        disk = self._disk
        assert isinstance(disk, ColdDisk)
        for path, start, size in disk.warmed:
            if path == self.path and start <= position and position + length <= start + size:
                return super().read_cached(position, length)
        raise Cold(self, position, length)

    def read(self, position: int, length: int) -> bytes:
        disk = self._disk
        assert isinstance(disk, ColdDisk)
        disk.cold_reads += 1
        return super().read(position, length)


class ColdDisk(RealDisk):
    def __init__(self) -> None:
        super().__init__()
        self.warmed: list[tuple[str, int, int]] = []
        self.cold_reads = 0

    def open(self, path: str) -> RealFile:
        return ColdFile(self, path)


def test_nothing_cold_is_read_on_the_loop(folder: Path) -> None:
    disk = ColdDisk()
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for number in range(40):
        put(log, b"x" * 60, at_ms=100 + number // 39)
    disk.cold_reads = 0
    steps = log.offset_for_timestamp(101, 40)

    def warm(wait: Wait) -> None:
        if isinstance(wait, Cold):
            disk.warmed.append((wait.file.path, wait.position, wait.length))

    assert finished(log, steps, warm) == (101, 39, 0)
    assert disk.cold_reads == len(disk.warmed) > 0
    disk.close()


def test_what_stays_cold_is_read_all_the_same(folder: Path) -> None:
    disk = ColdDisk()
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for number in range(40):
        put(log, b"x" * 60, at_ms=number)
    steps = log.offset_for_timestamp(39, 40)
    assert isinstance(next(steps), Cold)
    steps.throw(OSError("the file is gone"))
    assert finished(log, steps) == (39, 39, 0)
    disk.close()
