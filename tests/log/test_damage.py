"""Stretches that are damaged: what is read around them, and what is taken for one."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from tests.log.compacting import compact
from tests.log.making import (
    NOW_MS,
    TOPIC_ID,
    a_batch,
    a_folder,
    all_values,
    headers_at,
    opened,
    put,
    settle,
)
from tests.log.timing import finished, newest, patient_headers, since

from penstock.config import TopicConfig
from penstock.errors import ErrorCode, Refused
from penstock.log import layout, recovery, searching
from penstock.log.partition_log import PartitionLog
from penstock.log.reindexing import reindex
from penstock.wire import batch as batches
from penstock.wire.batch import Offset
from penstock.world.real_disk import RealDisk

FIRST = "00000000000000000000.log"
SIZE = len(a_batch(b"a", b"b", b"c"))
OFFSET_AT, LENGTH_AT, VALUE_AT = 1, 11, 70


def flip(path: Path, position: int, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1 << bit
    path.write_bytes(data)


def ten(log: PartitionLog) -> None:
    """Ten batches of three records each, a second apart."""
    for number in range(10):
        put(log, b"a", b"b", b"c", at_ms=NOW_MS + number * 1000)


def stretches(log: PartitionLog) -> list[tuple[int, int]]:
    return [(stretch.first_offset, stretch.end_offset) for stretch in log.damage]


def is_refused(log: PartitionLog, offset: int) -> bool:
    with pytest.raises(Refused) as refused:
        log.read(offset, 1000, log.end_offset)
    return refused.value.code == ErrorCode.CORRUPT_MESSAGE


# Reading around it


@pytest.mark.parametrize("byte", [OFFSET_AT, LENGTH_AT, VALUE_AT])
def test_a_damaged_batch_that_still_looks_like_one_is_never_served(
    log: PartitionLog, disk: RealDisk, folder: Path, byte: int
) -> None:
    ten(log)
    flip(folder / FIRST, 5 * SIZE + byte, 7 if byte == LENGTH_AT else 0)
    again = opened(disk, str(folder))
    assert stretches(again) == [(15, 18)]
    for offset in range(30):
        again.forget_marks()
        if 15 <= offset < 18:
            assert is_refused(again, offset)
            continue
        for max_bytes in (1, SIZE, 1 << 20):
            headers = patient_headers(again, offset, max_bytes)
            assert headers[0].base_offset == offset // 3 * 3
            assert 15 not in [header.base_offset for header in headers]
    assert stretches(again) == [(15, 18)], "and the good ones are not taken for damaged"


@pytest.mark.parametrize("byte", [OFFSET_AT, LENGTH_AT])
def test_going_through_a_segment_passes_over_what_is_known_to_be_damaged(
    log: PartitionLog, disk: RealDisk, folder: Path, byte: int
) -> None:
    ten(log)
    flip(folder / FIRST, 5 * SIZE + byte)
    again = opened(disk, str(folder))
    finished(again, reindex(again, again.segments[0]))
    assert stretches(again) == [(15, 18)]
    assert patient_headers(again, 19)[0].base_offset == 18


def test_times_are_not_taken_from_a_damaged_batch(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    ten(log)
    flip(folder / FIRST, 5 * SIZE + 36)  # its largest timestamp is larger yet
    again = opened(disk, str(folder))
    assert since(again, NOW_MS + 4001, 30) == (NOW_MS + 6000, 18, 0)
    assert newest(again) == (NOW_MS + 9000, 27, 0)


@pytest.mark.parametrize("offset", [15, 16, 18])
def test_a_log_that_is_cut_at_damage_ends_before_it_and_grows_again(
    log: PartitionLog, disk: RealDisk, folder: Path, offset: int
) -> None:
    ten(log)
    flip(folder / FIRST, 5 * SIZE + VALUE_AT)
    again = opened(disk, str(folder))
    again.truncate_to(offset)
    assert (again.end_offset, again.damage) == (15, [])
    put(again, b"new", b"new", b"new")
    assert [header.base_offset for header in headers_at(again, 0)] == [0, 3, 6, 9, 12, 15]


def test_who_reads_where_nothing_is_left_before_damage_is_told(
    disk: RealDisk, folder: Path
) -> None:
    config = TopicConfig(segment_bytes=500, cleanup_policy=("compact",))
    log = PartitionLog(disk, str(folder), TOPIC_ID, config)
    for _ in range(30):
        put(log, b"x" * 50)
    settle(log)
    compact(log)
    path = next(path for path in sorted(folder.glob("*.log")) if path.stat().st_size)
    flip(path, VALUE_AT)
    again = opened(disk, str(folder), config)
    ((first, end),) = stretches(again)
    assert first > 0
    assert is_refused(again, 0)
    assert is_refused(again, first)
    assert headers_at(again, end)[0].base_offset == end


# Batches within records


@pytest.mark.parametrize("jump", [0, 1, 1000, 2**31 - 6, 2**31 - 5, 2**40])
def test_a_batch_within_a_record_of_a_torn_batch_is_none_of_the_logs(
    log: PartitionLog, disk: RealDisk, folder: Path, jump: int
) -> None:
    for _ in range(5):
        put(log, b"v")
    inner = a_batch(b"inner")
    batches.stamp(inner, Offset(5 + jump), 0)
    put(log, bytes(inner) + b"tail" * 50)
    (folder / FIRST).write_bytes((folder / FIRST).read_bytes()[:-30])
    again = opened(disk, str(folder), recovery_point=5)
    assert (again.end_offset, again.damage) == (5, [])
    assert [value for _, value in all_values(again)] == [b"v"] * 5


def test_a_batch_within_a_record_of_a_damaged_batch_is_none_of_the_logs(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    inner = a_batch(b"inner")
    batches.stamp(inner, Offset(1), 0)
    put(log, bytes(inner) + b"tail" * 50, b"another")
    end = log.segments[0].size
    put(log, b"after")
    flip(folder / FIRST, end - 3)
    again = opened(disk, str(folder))
    assert stretches(again) == [(0, 2)]
    assert all_values(again, 2) == [(2, b"after")]


@pytest.mark.parametrize("bit", range(31))
def test_a_wrong_length_hides_no_batch(
    log: PartitionLog, disk: RealDisk, folder: Path, bit: int
) -> None:
    ten(log)
    flip(folder / FIRST, 2 * SIZE + LENGTH_AT - bit // 8, bit % 8)
    again = opened(disk, str(folder))
    assert stretches(again) == [(6, 9)]
    assert len(all_values(again, 9)) == 21


def test_a_log_whose_recovery_fails_keeps_no_other_from_being_served(
    disk: RealDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = a_folder(disk, tmp_path)
    for topic in ("bad", "good"):
        put(first.log_for(topic, 0, TOPIC_ID, TopicConfig()), b"a")
    first.checkpoint()
    first.abandon()
    recover = recovery.recover

    def failing(log: PartitionLog) -> object:
        if "bad" in log.folder:
            raise OverflowError("a bug")
        return recover(log)

    monkeypatch.setattr(recovery, "recover", failing)
    again = a_folder(disk, tmp_path)
    logs = [again.log_for(topic, 0, TOPIC_ID, TopicConfig()) for topic in ("bad", "good")]
    for _ in again.recover_all():
        pass
    assert again.unrecoverable == {("bad", 0): "OverflowError('a bug')"}
    assert all_values(logs[1]) == [(0, b"a")]
    again.abandon()


# A search that comes to its limit


def fakes(count: int) -> bytes:
    """What looks like the beginnings of large batches."""
    return (struct.pack(">qiib", 40, 20_000, 0, 2) + bytes(44)) * count


@pytest.mark.parametrize("has_following", [False, True])
def test_what_could_not_be_looked_at_is_damage_and_not_torn(
    disk: RealDisk, folder: Path, monkeypatch: pytest.MonkeyPatch, has_following: bool
) -> None:
    monkeypatch.setattr(searching, "SEARCH_PASSES", 0)
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    put(log, b"first")
    bad = log.segments[0].size
    put(log, fakes(10))
    for number in range(400):
        put(log, b"acked%d" % number + b"x" * 30)
    if has_following:
        log.roll()
        put(log, b"after")
    settle(log)
    size = (folder / FIRST).stat().st_size
    flip(folder / FIRST, bad + 16)  # so that nobody knows how long it is
    again = opened(disk, str(folder))
    assert (folder / FIRST).stat().st_size == size
    ((first, end),) = stretches(again)
    assert first == 1
    assert end == 402 if has_following else end >= 402, "no offset is used again"
    assert put(again, b"next").base_offset == max(end, log.end_offset)
    assert headers_at(again, end)[0].base_offset == end


# Offsets, which no CRC covers


@pytest.mark.parametrize("bit", range(64))
def test_a_wrong_offset_of_the_last_batch_is_damage_and_moves_nothing(
    log: PartitionLog, disk: RealDisk, folder: Path, bit: int
) -> None:
    ten(log)
    flip(folder / FIRST, 9 * SIZE + 7 - bit // 8, bit % 8)
    size = (folder / FIRST).stat().st_size
    again = opened(disk, str(folder))
    assert (stretches(again), again.end_offset) == ([(27, 30)], 30)
    assert (folder / FIRST).stat().st_size == size
    assert put(again, b"next").base_offset == 30


def test_a_wrong_offset_that_a_compacted_log_could_have_is_believed(
    disk: RealDisk, folder: Path
) -> None:
    config = TopicConfig(cleanup_policy=("compact",))
    log = PartitionLog(disk, str(folder), TOPIC_ID, config)
    ten(log)
    flip(folder / FIRST, 9 * SIZE + 6)
    again = opened(disk, str(folder), config)
    assert (again.damage, again.end_offset) == ([], 27 + 256 + 3)


@pytest.mark.parametrize("bit", range(8, 63))
def test_a_wrong_offset_of_a_compacted_logs_last_batch_shows_after_a_clean_stop(
    disk: RealDisk, folder: Path, bit: int
) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    ten(log)
    log.close()
    (folder / layout.COMPACTED_FILE).touch()
    flip(folder / FIRST, 9 * SIZE + 7 - bit // 8, bit % 8)
    again = reopened(disk, folder, 30)
    assert (stretches(again), again.end_offset) == ([(27, 30)], 30)
    assert put(again, b"next").base_offset == 30


def test_a_compacted_log_that_is_longer_than_was_noted_keeps_all_its_batches(
    disk: RealDisk, folder: Path
) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    ten(log)
    log.close()
    (folder / layout.COMPACTED_FILE).touch()
    again = reopened(disk, folder, 28)
    assert (stretches(again), again.end_offset) == ([], 30)


def reopened(disk: RealDisk, folder: Path, end: int) -> PartitionLog:
    """After a clean stop: nothing is looked through."""
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    log.end_offset = log.written_end = log.synced_end = log.recovery_point = end
    log.open()
    return log


def never_served(log: PartitionLog, bad: range, before: int) -> None:
    """Whoever asks gets the batch that holds an offset, or is refused if that is the bad one."""
    for offset in range(before):
        log.forget_marks()
        for max_bytes in (1, SIZE, 3 * SIZE):
            if offset in bad:
                with pytest.raises(Refused) as refused:
                    patient_headers(log, offset, max_bytes, before)
                assert refused.value.code == ErrorCode.CORRUPT_MESSAGE
            else:
                headers = patient_headers(log, offset, max_bytes, before)
                assert headers[0].base_offset == offset // 3 * 3


@pytest.mark.parametrize("bit", range(64))
@pytest.mark.parametrize("is_finished", [False, True])
def test_a_wrong_offset_is_found_out_by_who_reads_there(
    log: PartitionLog, disk: RealDisk, folder: Path, bit: int, is_finished: bool
) -> None:
    ten(log)
    if is_finished:
        log.roll()
        ten(log)
    log.close()
    flip(folder / FIRST, 5 * SIZE + 7 - bit // 8, bit % 8)
    again = reopened(disk, folder, log.end_offset)
    for before in (27, log.end_offset):  # the high watermark may lie in the same segment
        never_served(again, range(15, 18), before)
    assert stretches(again) == [(15, 18)]


@pytest.mark.parametrize("bit", range(5, 63))
def test_a_batch_of_a_compacted_log_cannot_lie_past_its_segment(
    disk: RealDisk, folder: Path, bit: int
) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    ten(log)
    log.roll()
    ten(log)
    log.close()
    (folder / layout.COMPACTED_FILE).touch()
    flip(folder / FIRST, 9 * SIZE + 7 - bit // 8, bit % 8)
    again = reopened(disk, folder, 60)
    with pytest.raises(Refused) as refused:
        patient_headers(again, 27)
    assert refused.value.code == ErrorCode.CORRUPT_MESSAGE
    assert patient_headers(again, 30)[0].base_offset == 30


# One wrong bit in the header of a batch whose records hold batches

BITS = [(16, bit) for bit in range(8)] + [
    (at, bit) for at in (8, 9, 10, 11, 23, 24, 25, 26) for bit in range(0, 8, 3)
]


@pytest.mark.parametrize(("byte", "bit"), BITS)
@pytest.mark.parametrize("is_clean", [False, True])
def test_whatever_bit_of_a_header_is_wrong_no_batch_within_its_records_is_served(
    log: PartitionLog, disk: RealDisk, folder: Path, byte: int, bit: int, is_clean: bool
) -> None:
    put(log, b"first")
    start = log.segments[0].size
    inner = a_batch(b"inner", b"inner", b"inner")
    batches.stamp(inner, Offset(2), 0)
    put(log, b"x" * 300 + bytes(inner) * 2)
    for _ in range(9):
        put(log, b"after")
    log.close()
    flip(folder / FIRST, start + byte, bit)
    again = reopened(disk, folder, 11) if is_clean else opened(disk, str(folder))
    finished(again, reindex(again, again.segments[0]))
    assert stretches(again) == [(1, 2)]
    assert all_values(again, 2) == [(offset, b"after") for offset in range(2, 11)]


def test_batches_are_found_past_a_multiple_of_two_to_the_32(disk: RealDisk, folder: Path) -> None:
    base = (1 << 32) - 4
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    log.start_over(base)
    for _ in range(4):
        put(log, b"a", b"b", b"c")
    flip(folder / f"{base:020d}.log", SIZE + VALUE_AT)
    again = opened(disk, str(folder), recovery_point=base)
    assert stretches(again) == [(base + 3, base + 6)]
    assert again.end_offset == base + 12


@pytest.mark.parametrize("is_clean", [False, True])
def test_a_batch_after_a_gap_is_not_to_blame_for_an_offset_that_cannot_be(
    disk: RealDisk, folder: Path, is_clean: bool
) -> None:
    """Seven records from offset 4 at the least do not end before 8."""
    data = b""
    folder.mkdir()
    for base, count, said in ((0, 4, 0), (5, 7, 5), (12, 1, 8), (13, 1, 13), (14, 1, 14)):
        batch = a_batch(*[b"%d" % (base + number) for number in range(count)])
        batches.stamp(batch, Offset(said), 0)
        data += batch
    (folder / FIRST).write_bytes(data)
    (folder / layout.COMPACTED_FILE).touch()
    again = reopened(disk, folder, 15) if is_clean else opened(disk, str(folder))
    finished(again, reindex(again, again.segments[0]))
    assert stretches(again) == [(12, 13)]
    assert patient_headers(again, 5)[0].base_offset == 5
    assert all_values(again, 13) == [(13, b"13"), (14, b"14")]
