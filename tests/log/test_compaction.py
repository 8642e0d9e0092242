"""What compaction keeps, what it leaves alone, and how much memory it takes."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from tests.log.compacting import (
    CONFIG,
    FIVE,
    WITHOUT_RETENTION,
    compact,
    contents,
    every_header,
    every_record,
    filled,
    latest,
    roll_and_compact,
    write,
)
from tests.log.making import NOW_MS, TOPIC_ID, all_values, opened
from tests.log.timing import drop_expired, newest, since

from penstock.log import compaction_plan
from penstock.log.cleaning import KeyReader
from penstock.log.key_map import BYTES_A_KEY, SHORT_KEY_BYTES, KeyMap
from penstock.log.partition_log import PartitionLog
from penstock.wire.batch_builder import build_batch
from penstock.wire.compression import Codec
from penstock.wire.records import Record
from penstock.world.real_disk import RealDisk


@pytest.fixture
def log(disk: RealDisk, folder: Path) -> PartitionLog:
    return PartitionLog(disk, str(folder), TOPIC_ID, CONFIG)


def test_the_last_record_of_each_key_stays_where_it_was(log: PartitionLog) -> None:
    filled(log)
    before = every_record(log)
    roll_and_compact(log)
    assert every_record(log) == before[-5:]
    assert log.end_offset == 40
    assert log.start_offset == 0
    assert log.cleaned_to == 40


def test_what_is_in_the_segment_that_is_written_to_is_left_alone(log: PartitionLog) -> None:
    filled(log)
    before, active = every_record(log), log.segments[-1].base
    compact(log)
    after = every_record(log)
    assert [r for r in after if r.offset >= active] == [r for r in before if r.offset >= active]
    assert latest(after) == latest(before)
    assert len(after) == 5 + 40 - active, "the map does not know what lies beyond"


def test_nothing_at_or_above_the_last_stable_offset_is_touched(log: PartitionLog) -> None:
    filled(log)
    before = every_record(log)
    stable = log.segments[3].base + 1
    compact(log, stable=stable)
    assert [r for r in every_record(log) if r.offset >= log.cleaned_to] == before[log.cleaned_to :]
    assert log.cleaned_to == stable - 1


def test_a_log_without_a_finished_segment_has_nothing_to_compact(log: PartitionLog) -> None:
    assert compact(log) is None
    write(log, *FIVE)
    assert compact(log) is None


def test_what_was_compacted_and_not_added_to_has_nothing_to_compact(log: PartitionLog) -> None:
    filled(log)
    roll_and_compact(log)
    assert compact(log) is None


def test_a_log_is_due_when_enough_of_it_is_dirty(log: PartitionLog) -> None:
    filled(log)
    log.roll()
    dirt = compaction_plan.examine(log, NOW_MS, log.end_offset)
    assert dirt is not None
    assert dirt.ratio == 1.0
    compact(log)
    write(log, *FIVE)
    log.roll()
    dirt = compaction_plan.examine(log, NOW_MS, log.end_offset)
    assert dirt is not None
    assert 0.2 < dirt.ratio < 0.8
    assert dirt.is_due(replace(CONFIG, min_cleanable_dirty_ratio=0.2))
    assert not dirt.is_due(replace(CONFIG, min_cleanable_dirty_ratio=0.8))


def test_young_records_are_left_alone_for_min_compaction_lag(log: PartitionLog) -> None:
    filled(log)
    write(log, *FIVE, at_ms=NOW_MS + 5000)
    log.roll()
    log.config = replace(CONFIG, min_compaction_lag_ms=1000)
    compact(log, now_ms=NOW_MS + 5500)
    assert len(every_record(log)) == 10
    compact(log, now_ms=NOW_MS + 6001)
    assert len(every_record(log)) == 5


def test_old_records_are_compacted_by_max_compaction_lag(log: PartitionLog) -> None:
    filled(log, 2)
    log.config = replace(CONFIG, max_compaction_lag_ms=1000, min_cleanable_dirty_ratio=1.0)
    compaction_plan.roll_overdue(log, NOW_MS + 1000)
    dirt = compaction_plan.examine(log, NOW_MS + 1000, log.end_offset)
    assert dirt is not None
    assert not dirt.is_due(log.config)
    compaction_plan.roll_overdue(log, NOW_MS + 1001)
    assert log.segments[-1].base == log.end_offset
    dirt = compaction_plan.examine(log, NOW_MS + 1001, log.end_offset)
    assert dirt is not None
    assert dirt.is_due(log.config)
    compact(log)
    assert len(every_record(log)) == 5
    assert write(log, *FIVE).base_offset == 10


def test_a_tombstone_stays_for_delete_retention_after_it_was_first_compacted(
    log: PartitionLog,
) -> None:
    write(log, (b"a", b"1"), (b"b", b"1"))
    write(log, (b"a", None), (b"c", b"1"), at_ms=NOW_MS - 10)
    roll_and_compact(log)
    tombstone = Record(2, NOW_MS - 10, b"a", None)
    assert tombstone in every_record(log), "with the time that it had"
    write(log, (b"d", b"1"))
    roll_and_compact(log, now_ms=NOW_MS + 59_999)
    assert tombstone in every_record(log)
    write(log, (b"e", b"1"))
    roll_and_compact(log, now_ms=NOW_MS + 60_000)
    assert [record.key for record in every_record(log)] == [b"b", b"c", b"d", b"e"]


def test_a_tombstone_beyond_the_map_has_not_begun_its_time(log: PartitionLog) -> None:
    write(log, (b"a", b"1"), (b"b", b"1"))
    write(log, (b"a", None))
    log.roll()
    compact(log, map_bytes=2 * BYTES_A_KEY)
    assert log.cleaned_to == 2
    assert every_header(log)[-1].delete_horizon_ms is None


def test_a_record_without_a_key_is_dropped(log: PartitionLog) -> None:
    write(log, (None, b"old"), (b"a", b"1"))
    write(log, (None, b"old"))
    write(log, (b"b", b"1"))
    roll_and_compact(log)
    assert contents(log) == [(1, b"a", b"1"), (3, b"b", b"1")]
    assert len(every_header(log)) == 2


def test_the_end_of_the_log_stays_when_its_last_records_are_gone(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    write(log, (b"a", b"1"))
    write(log, (b"b", b"1"))
    write(log, (b"b", None))
    log.config = WITHOUT_RETENTION
    roll_and_compact(log)
    write(log, (b"c", b"1"))
    roll_and_compact(log)
    assert contents(log) == [(0, b"a", b"1"), (3, b"c", b"1")]
    write(log, (b"c", None))
    roll_and_compact(log)
    write(log, (b"a", None))
    roll_and_compact(log)
    assert opened(disk, str(folder), CONFIG).end_offset == 6
    assert [header.last_offset for header in every_header(log)][-1] == 5


def test_batches_without_records_do_not_stay(log: PartitionLog) -> None:
    filled(log)
    write(log, *FIVE)
    compact(log)
    assert all(header.record_count for header in every_header(log))
    assert contents(log)[-5:] == [(40 + number, *pair) for number, pair in enumerate(FIVE)]


@pytest.fixture
def emptied(log: PartitionLog) -> PartitionLog:
    """Two segments in a row without a byte in them, and one with a record at 16."""
    log.config = replace(CONFIG, segment_bytes=300)
    filled(log, 2)
    for number, (key, _) in enumerate(FIVE):
        write(log, (key, b"last"), at_ms=NOW_MS + number)
    log.roll()
    write(log, (b"k0", b"new"))
    write(log, (b"k0", b"newer"))
    compact(log)
    sizes = [segment.size for segment in log.segments]
    assert sizes[:2] == [0, 0]
    assert all(sizes[-2:])
    return log


def test_a_segment_that_nothing_is_left_of_is_read_past(emptied: PartitionLog) -> None:
    found = contents(emptied)
    assert [offset for offset, _, _ in found] == [10, 11, 12, 13, 14, 15, 16]
    for offset in range(17):
        part = emptied.read(offset, 1 << 20, 17, cold_ok=True)
        assert part is not None
        assert part.next_offset > max(offset, 10)
    first = since(emptied, NOW_MS - 5, emptied.end_offset)
    assert first is not None
    assert first.offset == 10


def test_a_segment_that_nothing_is_left_of_is_there_after_a_start(
    emptied: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    before = contents(emptied)
    again = opened(disk, str(folder), emptied.config)
    assert not again.damage
    assert (again.start_offset, again.end_offset) == (0, 17)
    assert contents(again) == before


def test_segments_that_nothing_is_left_of_become_one_with_their_neighbours(
    emptied: PartitionLog,
) -> None:
    emptied.config = CONFIG
    roll_and_compact(emptied)
    assert [segment.base for segment in emptied.segments] == [0, 17]
    assert [record.offset for record in every_record(emptied)] == [11, 12, 13, 14, 16]


def test_retention_is_not_held_up_by_a_segment_that_nothing_is_left_of(
    emptied: PartitionLog,
) -> None:
    emptied.config = replace(CONFIG, cleanup_policy=("compact", "delete"), retention_ms=1000)
    drop_expired(emptied, NOW_MS + 900, emptied.end_offset)
    assert emptied.start_offset == 0
    drop_expired(emptied, NOW_MS + 1005, emptied.end_offset)
    assert emptied.start_offset == 17


@pytest.mark.parametrize("codec", list(Codec))
def test_compressed_batches_keep_their_codec(log: PartitionLog, codec: Codec) -> None:
    write(log, (b"a", b"1" * 99), (b"b", b"2" * 99), (b"c", b"3" * 99), codec=codec)
    write(log, (b"b", b"4" * 99), codec=codec)
    roll_and_compact(log)
    assert [record.offset for record in every_record(log)] == [0, 2, 3]
    assert {header.codec for header in every_header(log)} == {codec}


def test_untouched_batches_stay_as_they_are_to_the_byte(log: PartitionLog) -> None:
    write(log, (b"a", b"1"), (b"b", b"1"), codec=Codec.GZIP, level=1)
    log.roll()
    data = log.segments[0].file.read(0, 1000)
    write(log, (b"c", b"1"))
    roll_and_compact(log)
    assert log.segments[0].file.read(0, len(data)) == data


def test_small_segments_become_one_that_is_no_larger_than_allowed(log: PartitionLog) -> None:
    filled(log, 12)
    roll_and_compact(log)
    assert len(log.segments) > 5
    write(log, (b"k0", b"new"))
    roll_and_compact(log)
    assert len(log.segments) <= 4
    assert all(segment.size <= CONFIG.segment_bytes for segment in log.segments)
    assert [record.offset for record in every_record(log)] == [56, 57, 58, 59, 60]
    for record in every_record(log):
        assert all_values(log, record.offset)[0] == (record.offset, record.value)


def test_times_are_found_after_compaction_as_before(log: PartitionLog) -> None:
    for number in range(40):
        write(log, (b"k%d" % (number % 5), b"x" * 100), at_ms=NOW_MS + number * 10)
    roll_and_compact(log)
    found = since(log, NOW_MS, log.end_offset)
    assert found is not None
    assert found.offset == 35
    assert newest(log) == (NOW_MS + 390, 39, 0)


def test_retention_still_drops_segments_of_a_compacted_log(log: PartitionLog) -> None:
    log.config = replace(CONFIG, cleanup_policy=("compact", "delete"), retention_ms=1000)
    filled(log)
    roll_and_compact(log)
    drop_expired(log, NOW_MS + 1001, log.end_offset)
    assert log.start_offset == 40


def test_who_is_reading_an_old_segment_reads_on(log: PartitionLog) -> None:
    filled(log)
    held = log.read(0, 1 << 20, 40)
    assert held is not None
    data = held.range.file.read(held.range.position, held.range.length)
    done = roll_and_compact(log)
    assert held.range.file.read(held.range.position, held.range.length) == data
    assert all(Path(path).exists() and path.endswith(".deleted") for path in done.dropped_paths)


def test_files_of_an_earlier_pass_are_not_written_over(log: PartitionLog) -> None:
    filled(log)
    first = roll_and_compact(log)
    filled(log, 1)
    second = roll_and_compact(log)
    assert not set(first.dropped_paths) & set(second.dropped_paths)
    assert all(Path(path).exists() for path in first.dropped_paths)


def test_names_of_an_earlier_pass_are_not_given_again(log: PartitionLog) -> None:
    """Who is slow to read one of them may have to open it again, long after it was removed."""
    filled(log)
    first = roll_and_compact(log).dropped_paths
    for path in first:
        Path(path).unlink()
    filled(log, 1)
    assert not set(first) & set(roll_and_compact(log).dropped_paths)


def test_a_round_of_syncing_leaves_open_what_is_set_aside_meanwhile(log: PartitionLog) -> None:
    filled(log)
    token = log.begin_sync()
    held = log.read(0, 1 << 20, 40)
    assert held is not None
    roll_and_compact(log)
    for path in Path(log.folder).glob("*.deleted"):
        path.unlink()
    log.end_sync(token)
    assert held.range.file.read(held.range.position, held.range.length)


# Memory


def test_the_key_map_takes_no_more_than_it_may() -> None:
    keys = KeyMap(BYTES_A_KEY * 20_000)
    reader = KeyReader(keys, 0)
    tracemalloc.start()
    base = tracemalloc.get_traced_memory()[0]
    number = 0
    while not keys.is_full:
        batch = [Record(number, 0, b"%040d" % number, b"")]
        reader.take(memoryview(build_batch(batch)))
        number += 1
    peak = tracemalloc.get_traced_memory()[1] - base
    tracemalloc.stop()
    assert len(keys) == 20_000
    assert peak <= BYTES_A_KEY * 20_000


def test_long_keys_are_told_apart_and_never_taken_for_short_ones(log: PartitionLog) -> None:
    long = b"x" * 1000
    keys = [long, long + b"y", b"", b"z" * SHORT_KEY_BYTES, b"z" * (SHORT_KEY_BYTES + 1)]
    for key in keys:
        write(log, (key, b"1"))
    roll_and_compact(log)
    assert [record.key for record in every_record(log)] == keys


def test_a_pass_ends_where_the_map_is_full_and_the_next_goes_on_there(log: PartitionLog) -> None:
    for number in range(60):
        write(log, (b"k%d" % (number % 20), b"%d" % number * 10))
    before = latest(every_record(log))
    log.roll()
    ends = []
    while compact(log, map_bytes=7 * BYTES_A_KEY) is not None:
        ends.append(log.cleaned_to)
        assert latest(every_record(log)) == before
    assert ends[0] == 7
    assert ends == sorted(set(ends))
    assert len(every_record(log)) == 20
