"""Indexes that mislead, and bytes that are no batch, met while the log is in use."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from struct import pack_into, unpack_from
from typing import Any

import pytest
from tests.log.making import (
    NOW_MS,
    TOPIC_ID,
    a_batch,
    all_values,
    copied,
    opened,
    put,
)
from tests.log.spoiling import (
    COUNT,
    INDEXED,
    assert_all_found_but,
    break_batch,
    files,
    is_refused,
    started,
)
from tests.log.test_timestamps import ColdDisk
from tests.log.timing import drop_expired, finished, newest, patient_headers, since

from penstock.config import TopicConfig
from penstock.errors import ErrorCode, Refused
from penstock.log import drafting, reindexing
from penstock.log.drafting import Draft
from penstock.log.index_cache import IndexCache
from penstock.log.log_dir import LogDir
from penstock.log.partition_log import PartitionLog
from penstock.log.reindexing import reindex
from penstock.log.segment import Amiss, Segment
from penstock.log.steps import Wait
from penstock.wire.batch import read_header, size_at
from penstock.world.ports import Cold
from penstock.world.real_disk import RealDisk


def assert_all_found(log: PartitionLog, count: int = COUNT) -> None:
    for offset in range(count):
        log.forget_marks()
        headers = patient_headers(log, offset, 500)
        assert headers[0].base_offset == offset
        for each, following in pairwise(headers):
            assert following.base_offset == each.next_offset


# Wrong offset indexes


@pytest.mark.parametrize("bit", range(64))
@pytest.mark.parametrize("number", [0, -1], ids=["finished", "growing"])
def test_one_flipped_bit_in_an_index_hides_nothing(
    disk: RealDisk, filled: Path, number: int, bit: int
) -> None:
    path = files(filled, ".index")[number]
    data = bytearray(path.read_bytes())
    assert len(data) >= 4 * 8
    middle = len(data) // 16 * 8
    data[middle + bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    log = started(disk, filled)
    assert_all_found(log)
    assert not log.damage
    assert [value for _, value in all_values(log)] == [b"%03d" % n * 30 for n in range(COUNT)]


def test_lost_or_garbled_indexes_are_made_again(disk: RealDisk, filled: Path) -> None:
    offsets, times = files(filled, ".index"), files(filled, ".timeindex")
    offsets[0].unlink()
    offsets[1].write_bytes(b"\xff" * 16)
    offsets[2].write_bytes(b"abc")
    times[-1].write_bytes(b"")
    times[-2].unlink()
    log = started(disk, filled)
    assert_all_found(log)
    assert not log.damage
    assert all(path.exists() for path in offsets[:-1]), "for the next start"
    assert all(path.read_bytes() for path in times[:-1])


def test_a_wrong_index_is_gone_through_once(
    disk: RealDisk, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files(filled, ".index")[0].unlink()
    drafted: list[Segment] = []

    def noted(segment: Segment, **more: Any) -> Draft:
        drafted.append(segment)
        return Draft(segment, **more)

    monkeypatch.setattr(reindexing, "Draft", noted)
    log = started(disk, filled)
    assert_all_found(log)
    assert_all_found(started(disk, filled))
    assert len(drafted) == 1


def test_the_last_segments_index_stays_out_of_the_cache(disk: RealDisk, filled: Path) -> None:
    """Or the cache would take it away from under those who append."""
    path = files(filled, ".index")[-1]
    data = bytearray(path.read_bytes())
    pack_into(">i", data, 4, unpack_from(">i", data, 4)[0] + 1)
    path.write_bytes(data)
    log = started(disk, filled, IndexCache(limit_entries=1))
    assert_all_found(log)
    log.forget_marks()
    assert patient_headers(log, 5)[0].base_offset == 5
    assert log.active is not None
    assert log.active.offsets is not None
    for number in range(10):
        put(log, b"%03d" % (COUNT + number) * 30)
    assert_all_found(log, COUNT + 10)


def test_truncation_copes_with_a_wrong_index(disk: RealDisk, filled: Path) -> None:
    path = files(filled, ".index")[-1]
    data = bytearray(path.read_bytes())
    for at in range(4, len(data), 8):
        pack_into(">i", data, at, unpack_from(">i", data, at)[0] + 1)
    path.write_bytes(data)
    log = started(disk, filled)
    log.open()
    log.truncate_to(COUNT - 2)
    assert log.end_offset == COUNT - 2
    assert_all_found(log, COUNT - 2)


# Wrong time indexes


def spoil_times(folder: Path, how: str) -> int:
    """Of the second segment; where that begins."""
    path = files(folder, ".timeindex")[1]
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-8] if how == "cut" else b"")
    return int(path.stem)


@pytest.mark.parametrize("how", ["missing", "empty", "cut"])
def test_without_a_time_index_times_are_found(disk: RealDisk, filled: Path, how: str) -> None:
    wanted = spoil_times(filled, how) + 2
    log = started(disk, filled)
    assert since(log, NOW_MS + wanted * 1000, COUNT) == (NOW_MS + wanted * 1000, wanted, 0)
    assert newest(log) == (NOW_MS + (COUNT - 1) * 1000, COUNT - 1, 0)


@pytest.mark.parametrize("how", ["missing", "empty", "cut"])
def test_without_a_time_index_segments_expire_when_they_should(
    disk: RealDisk, filled: Path, how: str
) -> None:
    second = spoil_times(filled, how)
    log = started(disk, filled)
    log.open()
    third = log.segments[2].base
    drop_expired(log, NOW_MS + (third - 1) * 1000 + 10_000, COUNT)
    assert log.start_offset == second
    drop_expired(log, NOW_MS + (third - 1) * 1000 + 10_001, COUNT)
    assert log.start_offset == third


def test_recovery_makes_a_cut_time_index_again(disk: RealDisk, filled: Path) -> None:
    path = files(filled, ".timeindex")[0]
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    opened(disk, str(filled), INDEXED, recovery_point=COUNT)
    assert len(path.read_bytes()) % 12 == 0
    assert path.read_bytes()[-12:] == whole[-12:]


# In steps, beside everything else


def large(log: PartitionLog) -> None:
    for _ in range(2500):
        put(log, b"x")
    log.roll()


def test_a_large_segment_is_gone_through_in_steps(log: PartitionLog) -> None:
    large(log)
    steps: list[Wait] = []
    finished(log, reindex(log, log.segments[0]), steps.append)
    assert steps == [None] * 3


def test_nothing_cold_is_read_on_the_loop(folder: Path) -> None:
    disk = ColdDisk()
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    large(log)
    disk.cold_reads = 0

    def warm(wait: Wait) -> None:
        if isinstance(wait, Cold):
            disk.warmed.append((wait.file.path, wait.position, wait.length))

    finished(log, reindex(log, log.segments[0]), warm)
    assert disk.cold_reads == len(disk.warmed) == 1
    disk.close()


def test_who_cannot_wait_is_told_that_a_segment_is_amiss(disk: RealDisk, filled: Path) -> None:
    files(filled, ".index")[0].unlink()
    log = started(disk, filled)
    with pytest.raises(Amiss):
        log.read(3, 1000, COUNT)


def test_who_comes_meanwhile_waits_and_has_it_done(
    log: PartitionLog, caplog: pytest.LogCaptureFixture
) -> None:
    large(log)
    segment = log.segments[0]
    first, second = reindex(log, segment), reindex(log, segment)
    next(first)
    assert next(second) is None
    finished(log, first)
    assert list(second) == []
    assert caplog.text.count("was gone through") == 1


def test_who_waits_takes_over_what_another_has_given_up(
    log: PartitionLog, caplog: pytest.LogCaptureFixture
) -> None:
    large(log)
    segment = log.segments[0]
    first, second = reindex(log, segment), reindex(log, segment)
    next(first)
    next(second)
    first.close()
    finished(log, second)
    assert caplog.text.count("was gone through") == 1
    assert not segment.is_being_reindexed


def test_a_segment_may_grow_or_roll_meanwhile(log: PartitionLog) -> None:
    for _ in range(2500):
        put(log, b"x")
    steps = reindex(log, log.segments[0])
    next(steps)
    for _ in range(2500):
        put(log, b"y", at_ms=NOW_MS + 7)
    finished(log, steps)
    assert_some_found(log, 5000)
    steps = reindex(log, log.segments[0])
    next(steps)
    put(log, b"z")
    log.roll()
    put(log, b"after")
    finished(log, steps)
    assert_some_found(log, 5002)
    assert newest(log) == (NOW_MS + 7, 2500, 0)


@pytest.mark.parametrize("is_written", [True, False])
def test_what_is_appended_while_a_read_is_warmed_is_no_damage(
    folder: Path, is_written: bool
) -> None:
    disk = ColdDisk()
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    for _ in range(10):
        put(log, b"x")

    def meanwhile(wait: Wait) -> None:
        if isinstance(wait, Cold):
            disk.warmed.append((wait.file.path, 0, 1 << 20))
            batch = a_batch(b"y")
            log.append(batch, read_header(batch), NOW_MS, 0)
            if is_written:
                log.write_out()

    finished(log, reindex(log, log.segments[0]), meanwhile)
    assert log.end_offset == 11
    assert not log.damage
    assert patient_headers(log, 10)[0].base_offset == 10
    disk.close()


def assert_some_found(log: PartitionLog, count: int) -> None:
    for offset in range(0, count, 97):
        log.forget_marks()
        assert patient_headers(log, offset, 200)[0].base_offset == offset


@pytest.mark.parametrize("after", [1, 2])
def test_what_is_truncated_meanwhile_keeps_its_own_indexes(log: PartitionLog, after: int) -> None:
    for _ in range(2500):
        put(log, b"x", at_ms=NOW_MS + 9)
    steps = reindex(log, log.segments[0])
    for _ in range(after):
        next(steps)
    log.truncate_to(700)
    for _ in range(2500):
        put(log, b"another size", at_ms=NOW_MS)
    finished(log, steps)
    assert_some_found(log, 3200)


def test_a_log_that_is_deleted_meanwhile_is_left_alone(disk: RealDisk, tmp_path: Path) -> None:
    log_dir = LogDir(disk, str(tmp_path), cluster_id="cluster", node_id=1)
    log = log_dir.log_for("orders", 0, TOPIC_ID, TopicConfig())
    large(log)
    steps = reindex(log, log.segments[0])
    next(steps)
    log_dir.delete_log("orders", 0, TOPIC_ID)
    finished(log, steps)
    assert log.is_deleted
    log_dir.abandon()


# Damage


@pytest.mark.parametrize("segment", [0, 1, -1])
@pytest.mark.parametrize("number", [0, 7])
def test_damage_met_by_a_reader_is_noted_and_the_rest_goes_on(
    disk: RealDisk, filled: Path, segment: int, number: int
) -> None:
    log = started(disk, filled)
    log.open()
    bad = break_batch(files(filled, ".log")[segment], number)
    finished(log, reindex(log, log.segments[segment]))
    assert_all_found_but(log, bad)
    assert [(each.first_offset, each.end_offset) for each in log.damage] == [(bad, bad + 1)]
    again = started(disk, filled)
    again.open()
    assert again.damage == log.damage


@pytest.mark.parametrize("segment", [0, 1, -1])
@pytest.mark.parametrize("how", ["zeroed", "cut", "torn"])
def test_no_read_gives_bytes_that_do_not_begin_with_a_batch(
    disk: RealDisk, filled: Path, segment: int, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = files(filled, ".log")[segment]
    data, base = path.read_bytes(), int(path.stem)
    changed = {"zeroed": bytes(100) + data[100:], "cut": data[:60], "torn": data[5:]}
    log = started(disk, filled)
    log.open()
    path.write_bytes(changed[how])
    log.segments[segment].size = len(changed[how])
    with pytest.raises(Amiss):
        log.read(base, 500, COUNT)
    with pytest.raises(Refused) as refused:
        patient_headers(log, base, 500)
    assert refused.value.code == ErrorCode.CORRUPT_MESSAGE
    with pytest.raises(Refused):
        log.read(base, 500, COUNT)
    assert len([each for each in caplog.records if "is damaged" in each.getMessage()]) == 1


def test_who_runs_into_damage_has_it_noted_on_the_way(disk: RealDisk, filled: Path) -> None:
    files(filled, ".index")[0].write_bytes(b"")
    log = started(disk, filled)
    log.open()
    bad = break_batch(files(filled, ".log")[0], 7)
    assert patient_headers(log, bad + 1)[0].base_offset == bad + 1
    assert since(log, NOW_MS + bad * 1000, COUNT) == (NOW_MS + (bad + 1) * 1000, bad + 1, 0)
    assert_all_found_but(log, bad)


def test_a_damaged_end_is_closed_off_and_what_comes_after_is_read(
    disk: RealDisk, filled: Path
) -> None:
    log = started(disk, filled)
    log.open()
    assert log.active is not None
    last = files(filled, ".log")[-1]
    count = COUNT - log.active.base
    bad = break_batch(last, count - 1)
    assert bad == COUNT - 1
    finished(log, reindex(log, log.active))
    assert [(each.first_offset, each.end_offset) for each in log.damage] == [(bad, COUNT)]
    count = len(log.segments)
    assert put(log, b"next").base_offset == COUNT
    assert len(log.segments) == count + 1
    assert patient_headers(log, COUNT)[0].base_offset == COUNT
    with pytest.raises(Refused):
        patient_headers(log, bad)


def test_a_draft_that_stops_at_damage_replaces_nothing_on_disk(
    disk: RealDisk, filled: Path
) -> None:
    log = started(disk, filled)
    log.open()
    paths = files(filled, ".index")[0], files(filled, ".timeindex")[0]
    before = [path.read_bytes() for path in paths]
    break_batch(files(filled, ".log")[0], 7)
    drafting.remake_on_disk(log.segments[0])
    assert [path.read_bytes() for path in paths] == before


# Records that are gone, between one segment and the next


def lose(folder: Path, how: str) -> tuple[int, int]:
    """What a middle segment held, or some of it, from which offset to which."""
    first, second = (int(path.stem) for path in files(folder, ".log")[1:3])
    path = files(folder, ".log")[1]
    if how == "gone":
        for each in folder.glob(f"{path.stem}.*"):
            each.unlink()
    elif how == "empty":
        path.write_bytes(b"")
    else:
        data = path.read_bytes()
        path.write_bytes(data[: 3 * size_at(data)])
        first += 3
    return first, second


@pytest.mark.parametrize("how", ["gone", "empty", "cut"])
@pytest.mark.parametrize("is_clean", [True, False])
def test_who_reads_where_records_are_gone_is_told(
    disk: RealDisk, filled: Path, how: str, is_clean: bool, caplog: pytest.LogCaptureFixture
) -> None:
    first, end = lose(filled, how)
    log = started(disk, filled) if is_clean else opened(disk, str(filled), INDEXED, COUNT)
    assert [header.base_offset for header in patient_headers(log, first - 1)] == [first - 1]
    assert is_refused(log, first)
    assert is_refused(log, end - 1)
    assert patient_headers(log, end)[0].base_offset == end
    assert [(each.first_offset, each.end_offset) for each in log.damage] == [(first, end)]
    assert "is damaged" in caplog.text
    log.close()
    again = started(disk, filled)
    again.open()
    assert again.damage == log.damage


def test_a_gap_that_compaction_may_have_left_is_read_across(disk: RealDisk, filled: Path) -> None:
    first, end = lose(filled, "cut")
    log = started(disk, filled)
    log.cleaned_to = 1
    assert patient_headers(log, first)[0].base_offset == end
    assert not log.damage


def test_a_log_that_lost_its_first_segment_says_so(
    disk: RealDisk, filled: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = started(disk, filled)
    whole.open()
    assert not caplog.text
    files(filled, ".log")[0].unlink()
    log = started(disk, filled)
    log.open()
    assert log.start_offset == whole.segments[1].base
    assert f"begins with offset {log.start_offset}, not 0" in caplog.text


# Offsets that jump


def jump(path: Path, number: int, how: str) -> None:
    """The batches before and after one of a segment do not follow each other any more."""
    data, position = bytearray(path.read_bytes()), 0
    for _ in range(number):
        position += size_at(data, position)
    if how == "lost":
        del data[position : position + size_at(data, position)]
    else:
        pack_into(">q", data, position, read_header(data, position).base_offset + 2)
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["lost", "changed"])
@pytest.mark.parametrize("segment", [0, 1, -1])
@pytest.mark.parametrize("number", [0, 4, 7])
def test_a_jump_is_the_same_damage_to_who_goes_through_a_segment_as_to_recovery(
    disk: RealDisk, filled: Path, tmp_path: Path, how: str, segment: int, number: int
) -> None:
    path = files(filled, ".log")[segment]
    jump(path, number, how)
    recovered = opened(disk, str(copied(filled, tmp_path / "copy")), INDEXED)
    log = started(disk, filled)
    log.open()
    finished(log, reindex(log, log.segments[segment]))
    assert log.damage == recovered.damage
    first = int(path.stem) + number
    (stretch,) = log.damage
    assert stretch.first_offset == first
    assert is_refused(log, first)
    assert patient_headers(log, stretch.end_offset)[0].base_offset == stretch.end_offset
    finished(log, reindex(log, log.segments[segment]))
    assert log.damage == [stretch], "what is known is not noted twice"


@pytest.mark.parametrize("how", ["lost", "changed"])
def test_a_jump_at_the_end_of_a_segment_is_damage(
    disk: RealDisk, filled: Path, tmp_path: Path, how: str
) -> None:
    path, following = files(filled, ".log")[0], int(files(filled, ".log")[1].stem)
    jump(path, following - (2 if how == "lost" else 1), how)
    recovered = opened(disk, str(copied(filled, tmp_path / "copy")), INDEXED)
    log = started(disk, filled)
    log.open()
    finished(log, reindex(log, log.segments[0]))
    assert log.damage == recovered.damage
    assert log.damage[0].end_offset == following


def test_a_jump_in_a_compacted_log_is_none(disk: RealDisk, filled: Path) -> None:
    path = files(filled, ".log")[1]
    jump(path, 7, "lost")
    log = started(disk, filled)
    (filled / "penstock.compacted").touch()
    log.open()
    finished(log, reindex(log, log.segments[1]))
    assert not log.damage
    missing = int(path.stem) + 7
    assert patient_headers(log, missing)[0].base_offset == missing + 1
