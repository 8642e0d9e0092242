"""Appending to one log, and reading from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.log.making import (
    NOW_MS,
    TOPIC_ID,
    a_batch,
    all_values,
    batches_at,
    headers_at,
    opened,
    put,
    settle,
)

from penstock.config import TopicConfig
from penstock.errors import ErrorCode, Refused
from penstock.log.partition_log import PartitionLog
from penstock.wire import batch as batches
from penstock.world.ports import Cold
from penstock.world.real_disk import RealDisk
from penstock.world.real_file import RealFile

SMALL_SEGMENTS = TopicConfig(segment_bytes=1024, index_interval_bytes=100)


def test_a_partition_that_was_never_written_has_no_folder(log: PartitionLog, folder: Path) -> None:
    assert log.read(0, 1000, 0) is None
    assert (log.start_offset, log.end_offset, log.size_bytes) == (0, 0, 0)
    log.close()
    assert not folder.exists()


def test_batches_get_consecutive_offsets_and_the_leaders_epoch(log: PartitionLog) -> None:
    first = put(log, b"a", b"b", epoch=3)
    second = put(log, b"c", epoch=3)
    assert (first.base_offset, first.last_offset) == (0, 1)
    assert (second.base_offset, second.last_offset) == (2, 2)
    assert [(h.base_offset, h.leader_epoch) for h in headers_at(log, 0)] == [(0, 3), (2, 3)]


def test_what_is_stored_is_what_was_sent_but_for_offset_and_epoch(log: PartitionLog) -> None:
    sent = bytes(a_batch(b"a", b"b"))
    put(log, b"zero")
    put(log, b"a", b"b", epoch=7)
    stored = batches_at(log, 1)[0]
    assert stored[16:] == sent[16:]
    assert stored[8:12] == sent[8:12]


def test_append_time_is_stamped_on_the_batch_and_answered(disk: RealDisk, folder: Path) -> None:
    config = TopicConfig(message_timestamp_type="LogAppendTime")
    log = PartitionLog(disk, str(folder), TOPIC_ID, config)
    done = put(log, b"a", at_ms=5, now_ms=NOW_MS + 1)
    header = headers_at(log, 0)[0]
    assert done.append_time_ms == header.max_timestamp == NOW_MS + 1
    assert header.has_log_append_time
    assert (
        put(PartitionLog(disk, str(folder) + "1", TOPIC_ID, TopicConfig()), b"a").append_time_ms
        == -1
    )


def test_nothing_reaches_the_disk_before_write_out(log: PartitionLog, folder: Path) -> None:
    for value in (b"a", b"b"):
        batch = a_batch(value)
        log.append(batch, batches.read_header(batch), NOW_MS, 0)
    path = folder / "00000000000000000000.log"
    assert not path.exists()
    log.write_out()
    assert path.stat().st_size == log.size_bytes


def test_a_read_writes_out_what_it_is_about_to_give(log: PartitionLog) -> None:
    batch = a_batch(b"a")
    log.append(batch, batches.read_header(batch), NOW_MS, 0)
    assert [h.base_offset for h in headers_at(log, 0)] == [0]


def test_a_fetch_inside_a_batch_returns_the_whole_batch(log: PartitionLog) -> None:
    put(log, b"a", b"b", b"c")
    put(log, b"d")
    assert [h.base_offset for h in headers_at(log, 1)] == [0, 3]
    assert [h.base_offset for h in headers_at(log, 2)] == [0, 3]


def test_nothing_that_reaches_the_limit_is_given(log: PartitionLog) -> None:
    for _ in range(3):
        put(log, b"a", b"b")
    assert [h.base_offset for h in headers_at(log, 0, before=4)] == [0, 2]
    assert [h.base_offset for h in headers_at(log, 0, before=3)] == [0]
    assert log.read(0, 1000, 1) is None
    assert log.read(4, 1000, 4) is None


def test_a_read_is_cut_at_a_boundary(log: PartitionLog) -> None:
    sizes = [len(a_batch(b"x" * 100)) for _ in range(10)]
    for _ in sizes:
        put(log, b"x" * 100)
    found = log.read(0, sizes[0] * 3 + 10, 10)
    assert found is not None
    assert (len(found.range), found.next_offset) == (sizes[0] * 3, 3)
    assert [h.base_offset for h in headers_at(log, 3, sizes[0] * 2)] == [3, 4]


def test_a_first_batch_larger_than_asked_for_is_given_whole_unless_it_need_not_be(
    log: PartitionLog,
) -> None:
    put(log, b"x" * 10_000)
    put(log, b"y")
    assert [h.base_offset for h in headers_at(log, 0, max_bytes=10)] == [0]
    assert log.read(0, 10, 2, at_least_one=False) is None


def test_reads_out_of_range_are_refused(log: PartitionLog) -> None:
    put(log, b"a")
    for offset in (-1, 2):
        with pytest.raises(Refused) as refused:
            log.read(offset, 1000, 1)
        assert refused.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.read(1, 1000, 1) is None


def test_segments_roll_by_size_and_reads_go_on_across_them(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for number in range(50):
        put(log, b"%03d" % number * 20)
    assert len(log.segments) > 5
    assert all(segment.size <= 1024 for segment in log.segments)
    assert all_values(log) == [(n, b"%03d" % n * 20) for n in range(50)]
    assert (folder / "00000000000000000000.index").exists()
    for offset in range(50):
        assert headers_at(log, offset)[0].base_offset == offset


def test_a_batch_larger_than_a_segment_gets_one_of_its_own(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    put(log, b"x" * 5000)
    put(log, b"y")
    assert [segment.base for segment in log.segments] == [0, 1]


def test_segments_roll_by_the_age_of_their_first_record(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig(segment_ms=1000))
    put(log, b"a", at_ms=NOW_MS)
    put(log, b"b", at_ms=NOW_MS + 1000)
    put(log, b"c", at_ms=NOW_MS + 1001)
    assert [segment.base for segment in log.segments] == [0, 2]


def test_segments_whose_records_have_no_time_roll_by_when_they_were_appended(
    disk: RealDisk, folder: Path
) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig(segment_ms=1000))
    for after_ms in (0, 500, 1000, 1001, 1500, 2002):
        put(log, b"x", at_ms=-1, now_ms=NOW_MS + after_ms)
    assert [segment.base for segment in log.segments] == [0, 3, 5]


def test_segments_roll_when_an_index_is_full(disk: RealDisk, folder: Path) -> None:
    config = TopicConfig(segment_index_bytes=120, index_interval_bytes=0)
    log = PartitionLog(disk, str(folder), TOPIC_ID, config)
    for _ in range(40):
        put(log, b"a")
    assert len(log.segments) > 2
    assert len(all_values(log)) == 40


def test_a_follower_takes_batches_as_they_are_and_offsets_may_skip(
    log: PartitionLog, disk: RealDisk, tmp_path: Path
) -> None:
    put(log, b"a", epoch=1)
    put(log, b"b", epoch=2)
    data = b"".join(batches_at(log, 0))
    follower = PartitionLog(disk, str(tmp_path / "follower-0"), TOPIC_ID, TopicConfig())
    cut_off = memoryview(bytearray(data + data[:30]))
    assert follower.append_batches(cut_off, NOW_MS) == 2
    gap = a_batch(b"later")
    batches.stamp(gap, batches.Offset(10), 2)
    follower.append_batches(memoryview(gap), NOW_MS)
    assert all_values(follower) == [(0, b"a"), (1, b"b"), (10, b"later")]
    assert follower.epochs.entries == [(1, 0), (2, 1)]
    with pytest.raises(Refused):
        follower.append_batches(memoryview(gap), NOW_MS)


def test_the_gaps_that_a_follower_has_from_its_leader_are_no_damage_after_a_crash(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    put(log, b"a")
    assert not log.may_have_gaps
    later = a_batch(b"later")
    batches.stamp(later, batches.Offset(10), 0)
    log.append_batches(memoryview(later), NOW_MS)
    settle(log)
    again = opened(disk, str(folder))
    assert again.may_have_gaps
    assert not again.damage
    assert all_values(again) == [(0, b"a"), (10, b"later")]


def test_a_follower_refuses_a_batch_that_was_damaged_on_the_way(log: PartitionLog) -> None:
    batch = a_batch(b"a")
    batch[-1] ^= 1
    with pytest.raises(Refused) as refused:
        log.append_batches(memoryview(batch), NOW_MS)
    assert refused.value.code == ErrorCode.CORRUPT_MESSAGE
    assert log.end_offset == 0


def test_truncation_removes_the_batch_that_holds_the_offset(log: PartitionLog) -> None:
    for value in (b"a", b"b", b"c"):
        put(log, value, value)
    log.truncate_to(3)
    assert (log.end_offset, all_values(log)) == (2, [(0, b"a"), (1, b"a")])
    put(log, b"new")
    assert all_values(log)[-1] == (2, b"new")


def test_truncation_across_segments_also_cuts_the_epochs(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for number in range(40):
        put(log, b"%03d" % number * 20, epoch=number // 10)
    settle(log)
    log.truncate_to(15)
    assert (log.end_offset, log.latest_epoch, log.synced_end) == (15, 1, 15)
    assert log.epoch_end_offset(1) == (1, 15)
    for _ in range(15, 30):
        put(log, b"new" * 20, epoch=5)
    assert [offset for offset, _ in all_values(log)] == list(range(30))
    again = opened(disk, str(folder), SMALL_SEGMENTS)
    assert all_values(again) == all_values(log)


def test_a_log_may_start_over_at_another_offset(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    put(log, b"a", epoch=1)
    log.start_over(100)
    assert (log.start_offset, log.end_offset, log.size_bytes) == (100, 100, 0)
    put(log, b"b", epoch=2)
    assert all_values(log) == [(100, b"b")]
    assert opened(disk, str(folder)).end_offset == 101


def test_a_truncation_during_a_sync_makes_that_sync_worthless(log: PartitionLog) -> None:
    put(log, b"a")
    put(log, b"b")
    token = log.begin_sync()
    log.truncate_to(1)
    put(log, b"other")
    log.end_sync(token)
    assert log.synced_end == 0
    settle(log)
    assert log.synced_end == 2


@pytest.mark.parametrize("end", [0, 1])
def test_a_sync_covers_what_was_cut_off_also_where_nothing_is_left(
    log: PartitionLog, end: int
) -> None:
    """Else a power loss brings it back, behind an epoch that has begun in its place: who copies it
    has to cut it off again and again."""
    put(log, b"a")
    put(log, b"b")
    settle(log)
    log.truncate_to(end)
    log.begin_epoch(5, 0)
    names = [Path(file.path).name for file in log.begin_sync().files]
    assert f"{0:020d}.log" in names


def test_a_sync_covers_rolled_segments_their_indexes_and_new_folders(
    disk: RealDisk, folder: Path
) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for _ in range(20):
        put(log, b"x" * 100)
    token = log.begin_sync()
    names = {Path(file.path).name for file in token.files}
    for segment in log.segments[:-1]:
        base = f"{segment.base:020d}"
        assert {f"{base}.log", f"{base}.index", f"{base}.timeindex"} <= names
    assert set(token.folders) == {str(folder), str(folder.parent)}
    assert "partition.metadata" in names
    log.end_sync(token)
    assert log.synced_end == 20
    empty = log.begin_sync()
    assert (empty.files, empty.folders) == ([], [])


def test_flushes_fall_due_by_messages_and_by_time(log: PartitionLog) -> None:
    log.config = TopicConfig(flush_messages=2, flush_ms=50)
    assert not log.flush_due(NOW_MS)
    put(log, b"a", now_ms=NOW_MS)
    assert not log.flush_due(NOW_MS + 49)
    assert log.flush_due(NOW_MS + 50)
    put(log, b"b", now_ms=NOW_MS + 1)
    assert log.flush_due(NOW_MS + 1)
    settle(log)
    assert not log.flush_due(NOW_MS + 1000)


def test_a_read_of_cold_data_says_so_instead_of_waiting(
    disk: RealDisk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for _ in range(20):
        put(log, b"x" * 100)
    monkeypatch.setattr(RealFile, "is_cached", lambda *_: False)
    with pytest.raises(Cold):
        log.read(0, 500, 20)
    assert log.read(0, 500, 20, cold_ok=True) is not None
    tail = log.segments[-1].base
    assert log.read(tail, 500, 20) is not None, "what was appended last needs no look"


def test_a_sequential_reader_needs_no_scan(
    log: PartitionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(300):
        put(log, b"x" * 100)
    offset = 0
    monkeypatch.setattr("penstock.log.scanning.find", None)
    while offset < 300:
        found = log.read(offset, 8000, 300)
        assert found is not None
        assert found.next_offset > offset
        offset = found.next_offset


def test_a_changed_config_counts_from_the_next_append(log: PartitionLog) -> None:
    put(log, b"x" * 900)
    log.config = replace(log.config, segment_bytes=1024)
    put(log, b"x" * 900)
    assert len(log.segments) == 2


def test_room_is_taken_ahead_of_large_writes_alone_and_in_proportion(
    log: PartitionLog, folder: Path, disk: RealDisk
) -> None:
    put(log, b"small")
    assert log.active is not None
    assert log.active.reserved == 0
    for _ in range(5):
        put(log, bytes(1 << 20))
    blocks = Path(log.active.file.path).stat().st_blocks * 512
    assert log.active.size < blocks <= log.active.size * 5 / 4 + 4096
    settle(log)
    log.close()
    assert len(all_values(opened(disk, str(folder)))) == 6


def test_no_room_is_taken_beyond_a_segments_end(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig(segment_bytes=(2 << 20) + 4096))
    put(log, bytes(1 << 20))
    put(log, bytes(1 << 20))
    assert log.active is not None
    assert log.active.reserved == (2 << 20) + 4096
