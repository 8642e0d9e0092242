"""What is left of a log after a crash, a torn write, a flipped bit."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from tests.log.making import (
    TOPIC_ID,
    MeteredDisk,
    a_batch,
    all_values,
    copied,
    headers_at,
    opened,
    put,
    put_marker,
    settle,
    split,
)
from tests.sim.disks import Machine

from penstock.config import TopicConfig
from penstock.errors import ErrorCode, Refused
from penstock.log.partition_log import PartitionLog
from penstock.log.recovery import recover
from penstock.log.window import Window
from penstock.wire.batch_builder import read_records
from penstock.world.real_disk import RealDisk

FIRST = "00000000000000000000.log"
SMALL_SEGMENTS = TopicConfig(segment_bytes=1024, index_interval_bytes=100)


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x40
    path.write_bytes(data)


def test_a_file_cut_at_every_byte_of_its_last_batch_recovers_to_the_batches_before_it(
    log: PartitionLog, disk: RealDisk, folder: Path, tmp_path: Path
) -> None:
    for value in (b"a", b"b", b"last"):
        put(log, value)
    whole = (folder / FIRST).read_bytes()
    kept = len(whole) - len(a_batch(b"last"))
    for size in range(kept, len(whole)):
        copy = copied(folder, tmp_path / "copy-0")
        (copy / FIRST).write_bytes(whole[:size])
        recovered = opened(disk, str(copy))
        assert all_values(recovered) == [(0, b"a"), (1, b"b")]
        assert (recovered.end_offset, (copy / FIRST).stat().st_size) == (2, kept)


def test_every_flipped_bit_of_the_last_batch_is_noticed(
    log: PartitionLog, disk: RealDisk, folder: Path, tmp_path: Path
) -> None:
    for value in (b"a", b"b", b"last"):
        put(log, value)
    size = (folder / FIRST).stat().st_size
    last = size - len(a_batch(b"last"))
    not_covered = {*range(8), *range(12, 16)}  # by the CRC: offset and leader epoch
    for position in range(last, size):
        if position - last in not_covered:
            continue
        copy = copied(folder, tmp_path / "copy-0")
        flip(copy / FIRST, position)
        recovered = opened(disk, str(copy))
        assert all_values(recovered) == [(0, b"a"), (1, b"b")]
        assert recovered.was_cut, "other replicas may have it"
        put(recovered, b"next")
        assert all_values(recovered) == [(0, b"a"), (1, b"b"), (2, b"next")]


def test_an_offset_that_the_next_batch_takes_back_is_a_fault(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    for value in (b"a", b"b", b"c"):
        put(log, value)
    flip(folder / FIRST, len(a_batch(b"a")) + 7)
    recovered = opened(disk, str(folder), recovery_point=3)
    assert [(d.first_offset, d.end_offset) for d in recovered.damage] == [(1, 2)]


def test_a_tail_of_zeros_is_cut_off(log: PartitionLog, disk: RealDisk, folder: Path) -> None:
    put(log, b"a")
    with (folder / FIRST).open("ab") as file:
        file.write(bytes(5000))
    assert all_values(opened(disk, str(folder))) == [(0, b"a")]


def forty(disk: RealDisk, folder: Path) -> PartitionLog:
    """A log of forty small batches in many segments."""
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for number in range(40):
        put(log, b"%03d" % number * 20)
    return log


def damage_of(log: PartitionLog) -> list[tuple[int, int]]:
    return [(stretch.first_offset, stretch.end_offset) for stretch in log.damage]


def offsets_outside(log: PartitionLog) -> list[int]:
    """Of all records that can be read, going on after each damaged stretch."""
    found: list[int] = []
    at = log.start_offset
    for first, end in [*damage_of(log), (log.end_offset, log.end_offset)]:
        if at < first:
            found += [offset for offset, _ in all_values_below(log, at, first)]
        at = end
    return found


def all_values_below(log: PartitionLog, at: int, end: int) -> list[tuple[int, bytes | None]]:
    found: list[tuple[int, bytes | None]] = []
    while at < end:
        slice_ = log.read(at, 1 << 30, end)
        assert slice_ is not None
        data = slice_.range.file.read(slice_.range.position, slice_.range.length)
        for batch in split(data):
            found += [(each.offset, each.value) for each in read_records(batch, 1 << 20)]
        at = slice_.next_offset
    return found


@pytest.mark.parametrize("where", [0, 200])
def test_a_bad_batch_that_good_ones_follow_is_damage_also_past_the_recovery_point(
    disk: RealDisk, folder: Path, where: int
) -> None:
    log = forty(disk, folder)
    flip(Path(log.segments[1].file.path), where + 70)
    again = opened(disk, str(folder), SMALL_SEGMENTS)
    ((first, end),) = damage_of(again)
    assert end == first + 1
    assert again.end_offset == 40
    assert offsets_outside(again) == [offset for offset in range(40) if offset != first]
    assert put(again, b"next").base_offset == 40
    settle(again)
    assert damage_of(opened(disk, str(folder), SMALL_SEGMENTS, 41)) == [(first, end)]


def test_a_segment_that_ends_badly_is_damaged_if_it_was_synced(
    disk: RealDisk, folder: Path
) -> None:
    log = forty(disk, folder)
    path, third = Path(log.segments[1].file.path), log.segments[2].base
    path.write_bytes(path.read_bytes()[: -20 - len(a_batch(b"000" * 20))])
    again = opened(disk, str(folder), SMALL_SEGMENTS, recovery_point=third - 1)
    assert damage_of(again) == [(third - 2, third)]
    assert offsets_outside(again) == [*range(third - 2), *range(third, 40)]


def test_an_offset_that_belongs_to_the_next_segment_is_a_fault(
    disk: RealDisk, folder: Path
) -> None:
    log = forty(disk, folder)
    path, third = Path(log.segments[1].file.path), log.segments[2].base
    flip(path, path.stat().st_size - len(a_batch(b"000" * 20)) + 6)
    again = opened(disk, str(folder), SMALL_SEGMENTS)
    assert damage_of(again) == [(third - 1, third)]
    assert again.end_offset == 40


def test_a_segment_without_a_good_batch_is_damaged_as_a_whole(disk: RealDisk, folder: Path) -> None:
    log = forty(disk, folder)
    path = Path(log.segments[1].file.path)
    path.write_bytes(b"\x55" * path.stat().st_size)
    again = opened(disk, str(folder), SMALL_SEGMENTS)
    assert damage_of(again) == [(log.segments[1].base, log.segments[2].base)]
    assert again.end_offset == 40


def test_garbage_after_all_batches_of_a_segment_is_cut_off(
    disk: RealDisk, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = forty(disk, folder)
    path = Path(log.segments[1].file.path)
    whole = path.read_bytes()
    path.write_bytes(whole + bytes(100))
    again = opened(disk, str(folder), SMALL_SEGMENTS)
    assert (path.read_bytes(), again.damage) == (whole, [])
    assert all_values(again) == all_values(log)
    assert not again.was_cut, "no offset is missing"
    assert f"100 bytes that offset {log.segments[2].base} should begin" in caplog.text


def test_segments_after_a_torn_one_that_hold_nothing_good_are_set_aside(
    disk: RealDisk, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = forty(disk, folder)
    torn, *later = (Path(segment.file.path) for segment in log.segments[-3:])
    torn.write_bytes(torn.read_bytes()[:-20])
    for path in later:
        path.write_bytes(b"nothing good")
    again = opened(disk, str(folder), SMALL_SEGMENTS)
    end = log.segments[-2].base - 1
    assert (again.end_offset, again.damage) == (end, [])
    assert [offset for offset, _ in all_values(again)] == list(range(end))
    assert [Path(f"{path}.torn").read_bytes() for path in later] == [b"nothing good"] * 2
    assert caplog.text.count("was cut off the log, and set aside") == 2
    assert f"bytes that offset {end} should begin are no batch" in caplog.text
    assert str(folder) in again.begin_sync().folders, "or a crash would bring the others back"
    assert put(again, b"next").base_offset == end
    assert all_values(opened(disk, str(folder), SMALL_SEGMENTS)) == all_values(again)


def test_a_segment_that_lost_its_last_batches_whole_is_damaged_if_they_were_synced(
    disk: RealDisk, folder: Path
) -> None:
    for recovery_point in (4, 6):
        log = forty(disk, folder / str(recovery_point))
        first = Path(log.segments[0].file.path)
        one = first.stat().st_size // log.segments[1].base
        first.write_bytes(first.read_bytes()[: 3 * one])
        again = opened(disk, log.folder, SMALL_SEGMENTS, recovery_point)
        assert damage_of(again) == [(3, log.segments[1].base)]
        assert offsets_outside(again) == [0, 1, 2, *range(log.segments[1].base, 40)]


def test_records_made_to_look_like_batches_do_not_hold_up_a_recovery(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    put(log, b"a")
    size = len(a_batch(b"a"))
    fakes = 20_000
    fake = struct.pack(">qiib", 1, 17 * fakes, 0, 2)
    with (folder / FIRST).open("ab") as file:
        file.write(bytes(100) + fake * fakes + bytes(20 * fakes))
    metered = MeteredDisk()
    window = Window(metered.open(str(folder / FIRST)), 0)
    assert list(window.next_good(size, 1))
    assert sum(metered.lengths) < 10 * window.size
    metered.close()
    assert all_values(opened(disk, str(folder))) == [(0, b"a")]


def test_a_file_named_after_an_offset_that_cannot_be_is_no_segment(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    put(log, b"a")
    (folder / f"{'9' * 20}.log").write_bytes(b"")
    assert all_values(opened(disk, str(folder))) == [(0, b"a")]


def test_a_gap_that_compaction_may_have_left_is_no_loss(disk: RealDisk, folder: Path) -> None:
    config = TopicConfig(segment_bytes=1024, cleanup_policy=("compact",))
    log = PartitionLog(disk, str(folder), TOPIC_ID, config)
    while len(log.segments) < 3:
        put(log, b"x" * 100)
    first = folder / "00000000000000000000.log"
    one = first.stat().st_size // log.segments[1].base
    first.write_bytes(first.read_bytes()[: 3 * one])
    again = opened(disk, str(folder), config, recovery_point=2)
    assert again.end_offset == log.end_offset


def test_recovery_run_twice_or_interrupted_comes_to_the_same_end(
    disk: RealDisk, folder: Path, tmp_path: Path
) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for number in range(60):
        put(log, b"%03d" % number * 20, producer_id=5, producer_epoch=0, base_sequence=number)
    last = Path(log.segments[-1].file.path)
    last.write_bytes(last.read_bytes()[:-20])
    middle = Path(log.segments[-3].file.path)
    flip(middle, middle.stat().st_size - 20)
    wanted = opened(disk, str(copied(folder, tmp_path / "wanted-0")), SMALL_SEGMENTS)
    for steps in range(12):
        copy = copied(folder, tmp_path / "copy-0")
        started = PartitionLog(disk, str(copy), TOPIC_ID, SMALL_SEGMENTS)
        for number, _ in enumerate(recover(started)):
            if number == steps:
                break
        for _ in range(2):
            again = opened(disk, str(copy), SMALL_SEGMENTS)
            assert (again.end_offset, damage_of(again)) == (wanted.end_offset, damage_of(wanted))
            assert offsets_outside(again) == offsets_outside(wanted)
            assert again.producers.producers[5].batches == wanted.producers.producers[5].batches


def test_a_crash_between_any_two_steps_loses_nothing_that_was_synced(
    disk: RealDisk, folder: Path, tmp_path: Path
) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for number in range(40):
        put(log, b"%03d" % number * 20, epoch=number // 7)
        if number % 5 == 0:
            settle(log)
        copy = copied(folder, tmp_path / "copy-0")
        recovered = opened(disk, str(copy), SMALL_SEGMENTS, log.synced_end)
        assert not recovered.damage
        assert recovered.end_offset >= log.synced_end
        assert all_values(recovered) == all_values(log)
        assert recovered.epochs.entries == log.epochs.entries


def test_a_bad_batch_below_the_recovery_point_is_kept_refused_and_reported(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    for value in (b"a", b"b", b"c", b"d"):
        put(log, value, value)
    settle(log)
    size = len(a_batch(b"a", b"a"))
    before = (folder / FIRST).stat().st_size
    flip(folder / FIRST, size + 70)
    recovered = opened(disk, str(folder), recovery_point=8)
    assert (folder / FIRST).stat().st_size == before
    assert [(d.first_offset, d.end_offset) for d in recovered.damage] == [(2, 4)]
    assert recovered.end_offset == 8
    assert [h.base_offset for h in headers_at(recovered, 0)] == [0]
    assert [h.base_offset for h in headers_at(recovered, 4)] == [4, 6]
    for offset in (2, 3):
        with pytest.raises(Refused) as refused:
            recovered.read(offset, 1000, 8)
        assert refused.value.code == ErrorCode.CORRUPT_MESSAGE
    put(recovered, b"e")
    assert [h.base_offset for h in headers_at(recovered, 4)] == [4, 6, 8]


@pytest.mark.parametrize("byte", [3, 9, 10, 11, 16, 24, 40, 65])
def test_recovery_finds_the_next_good_batch_whatever_was_hit(
    log: PartitionLog, disk: RealDisk, folder: Path, byte: int
) -> None:
    for value in (b"a", b"b", b"c", b"d"):
        put(log, value * 30)
    size = len(a_batch(b"b" * 30))
    flip(folder / FIRST, size + byte)
    recovered = opened(disk, str(folder), recovery_point=4)
    assert [(d.first_offset, d.end_offset) for d in recovered.damage] == [(1, 2)]
    assert [h.base_offset for h in headers_at(recovered, 0)] == [0]
    assert [h.base_offset for h in headers_at(recovered, 2)] == [2, 3]
    assert [h.base_offset for h in headers_at(recovered, 3)] == [3]


def test_damage_is_still_known_after_a_clean_stop(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    for value in (b"a", b"b", b"c"):
        put(log, value)
    flip(folder / FIRST, len(a_batch(b"a")) + 9)
    recovered = opened(disk, str(folder), recovery_point=3)
    recovered.close()
    again = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    again.end_offset = again.written_end = again.recovery_point = 3
    again.open()
    assert again.damage == recovered.damage
    assert [h.base_offset for h in headers_at(again, 2)] == [2]
    with pytest.raises(Refused):
        again.read(1, 1000, 3)


@pytest.mark.parametrize("byte", [9, 50], ids=["its length", "its producer"])
def test_producers_are_found_again_past_a_damaged_batch_and_not_in_it(
    log: PartitionLog, disk: RealDisk, folder: Path, byte: int
) -> None:
    for number in range(4):
        put(log, b"x", producer_id=number, producer_epoch=0, base_sequence=0)
    flip(folder / FIRST, len(a_batch(b"x")) + byte)
    recovered = opened(disk, str(folder), recovery_point=4)
    recovered.close()
    for snapshot in folder.glob("*.snapshot"):
        snapshot.unlink()
    again = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    again.end_offset = again.written_end = again.recovery_point = 4
    again.open()
    assert list(again.producers.producers) == list(recovered.producers.producers) == [0, 2, 3]


def test_synced_records_that_are_missing_at_the_end_are_damage_and_offsets_are_not_used_again(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    for value in (b"a", b"b", b"c"):
        put(log, value)
    size = len(a_batch(b"a"))
    data = (folder / FIRST).read_bytes()
    (folder / FIRST).write_bytes(data[: size + 20])
    recovered = opened(disk, str(folder), recovery_point=3)
    assert [(d.first_offset, d.end_offset) for d in recovered.damage] == [(1, 3)]
    assert put(recovered, b"new").base_offset == 3
    assert (folder / FIRST).read_bytes() == data[: size + 20]
    assert [h.base_offset for h in headers_at(recovered, 3)] == [3]
    again = opened(disk, str(folder), recovery_point=3)
    assert again.damage == recovered.damage
    assert [h.base_offset for h in headers_at(again, 3)] == [3]


def test_a_log_that_does_not_end_where_it_should_is_recovered_at_the_first_touch(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    put(log, b"a")
    put(log, b"b")
    log.close()
    again = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    again.end_offset = again.written_end = 1
    again.open()
    assert all_values(again) == [(0, b"a"), (1, b"b")]


def test_epochs_that_were_not_noted_come_back_from_the_batches(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    for epoch in (1, 1, 4, 6):
        put(log, b"a", epoch=epoch)
    recovered = opened(disk, str(folder))
    assert recovered.epochs.entries == [(1, 0), (4, 2), (6, 3)]
    log.close()
    (folder / "leader-epoch-checkpoint").write_bytes(b"garbage")
    again = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    again.end_offset = again.written_end = 4
    assert again.epoch_end_offset(5) == (4, 3)


def test_aborted_transactions_are_found_again(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for number in range(30):
        put(
            log,
            b"x" * 100,
            producer_id=9,
            producer_epoch=0,
            base_sequence=number,
            transactional=True,
        )
        if number % 3 == 2:
            put_marker(log, 9, commit=number % 2 == 0)
    wanted = log.aborted_between(0, log.end_offset)
    assert len(wanted) == 5
    recovered = opened(disk, str(folder), SMALL_SEGMENTS)
    assert recovered.aborted_between(0, log.end_offset) == wanted
    recovered.close()
    for index in folder.glob("*.txnindex"):
        index.write_bytes(b"half an entry")
    again = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    again.end_offset = again.written_end = log.end_offset
    assert again.aborted_between(0, log.end_offset) == wanted


@pytest.mark.parametrize("seed", range(10))
def test_an_index_of_aborted_transactions_is_there_for_good_after_a_clean_stop(seed: int) -> None:
    """One that is not there means that none were aborted: its name has to be synced, too."""
    machine = Machine(seed)
    log = PartitionLog(machine.disk, "/data/orders-0", TOPIC_ID, TopicConfig())
    put(log, b"a", producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    log.close()  # which writes epochs, too, and those are synced with their folder
    settle(log)
    put_marker(log, 9, commit=False)
    wanted = log.aborted_between(0, log.end_offset)
    log.close()
    settle(log)
    again = PartitionLog(machine.after_power_loss(), "/data/orders-0", TOPIC_ID, TopicConfig())
    again.end_offset = again.written_end = log.end_offset
    assert wanted
    assert again.aborted_between(0, log.end_offset) == wanted


def test_leftovers_of_deletion_and_compaction_are_removed(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    put(log, b"a")
    for name in ("7.log.deleted", "7.log.cleaned", "x.tmp", "00000000000000000007.index"):
        (folder / name).write_bytes(b"x")
    assert all_values(opened(disk, str(folder))) == [(0, b"a")]
    left = {path.name for path in folder.iterdir()}
    assert not {name for name in left if name.endswith((".deleted", ".cleaned", ".tmp"))}
    assert "00000000000000000007.index" not in left
