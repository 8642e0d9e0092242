"""What is left of a log after a crash, a torn write, a flipped bit."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.log.making import (
    TOPIC_ID,
    a_batch,
    all_values,
    copied,
    headers_at,
    opened,
    put,
    put_marker,
    settle,
)

from penstock.config import TopicConfig
from penstock.errors import ErrorCode, Refused
from penstock.log.partition_log import PartitionLog
from penstock.log.recovery import recover
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
    not_covered = {*range(4, 8), *range(12, 16)}  # offset (a gap could be true) and leader epoch
    for position in range(last, size):
        if position - last in not_covered:
            continue
        copy = copied(folder, tmp_path / "copy-0")
        flip(copy / FIRST, position)
        recovered = opened(disk, str(copy))
        assert all_values(recovered) == [(0, b"a"), (1, b"b")]
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


def test_segments_after_a_torn_one_are_dropped(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for number in range(40):
        put(log, b"%03d" % number * 20)
    second = log.segments[1]
    flip(Path(second.file.path), 200)
    recovered = opened(disk, str(folder), SMALL_SEGMENTS)
    assert recovered.end_offset < 40
    assert [offset for offset, _ in all_values(recovered)] == list(range(recovered.end_offset))
    assert not recovered.damage
    put(recovered, b"next")
    assert all_values(recovered)[-1][1] == b"next"


def test_recovery_run_twice_or_interrupted_comes_to_the_same_end(
    disk: RealDisk, folder: Path, tmp_path: Path
) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for number in range(60):
        put(log, b"%03d" % number * 20, producer_id=5, producer_epoch=0, base_sequence=number)
    flip(Path(log.segments[-1].file.path), 100)
    wanted = opened(disk, str(copied(folder, tmp_path / "wanted-0")), SMALL_SEGMENTS)
    for steps in range(12):
        copy = copied(folder, tmp_path / "copy-0")
        started = PartitionLog(disk, str(copy), TOPIC_ID, SMALL_SEGMENTS)
        for number, _ in enumerate(recover(started)):
            if number == steps:
                break
        for _ in range(2):
            again = opened(disk, str(copy), SMALL_SEGMENTS)
            assert all_values(again) == all_values(wanted)
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
        assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
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


def test_lost_or_garbled_indexes_are_made_again(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for number in range(40):
        put(log, b"%03d" % number * 20)
    log.close()
    indexes = sorted(folder.glob("*.index")) + sorted(folder.glob("*.timeindex"))
    indexes[0].unlink()
    indexes[1].write_bytes(b"\xff" * 16)
    indexes[2].write_bytes(b"abc")
    indexes[-1].write_bytes(b"")
    indexes[-2].unlink()
    again = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    again.end_offset = again.written_end = 40
    for offset in range(40):
        assert headers_at(again, offset)[0].base_offset == offset
    assert not again.damage


def test_an_index_that_leads_to_the_wrong_batch_is_noticed(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for number in range(40):
        put(log, b"%03d" % number * 20)
    log.close()
    for index in folder.glob("*.index"):
        data = bytearray(index.read_bytes())
        for position in range(7, len(data), 8):
            data[position] ^= 4  # not a boundary any more
        index.write_bytes(data)
    again = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    again.end_offset = again.written_end = 40
    for offset in range(40):
        assert headers_at(again, offset)[0].base_offset == offset


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


def test_a_swap_that_was_begun_is_completed(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for number in range(40):
        put(log, b"%03d" % number * 20)
    settle(log)
    first, second, third = log.segments[:3]
    merged = Path(first.file.path).read_bytes()[:-110] + Path(second.file.path).read_bytes()
    keep = headers_at(log, 0)[:-1]
    data = Path(first.file.path).read_bytes()[: sum(header.size for header in keep)]
    merged = data + Path(second.file.path).read_bytes()
    Path(first.file.path + ".swap").write_bytes(merged)
    for _ in range(2):
        recovered = opened(disk, str(folder), SMALL_SEGMENTS, recovery_point=40)
        assert [segment.base for segment in recovered.segments[:2]] == [0, third.base]
        assert not recovered.damage
        dropped = keep[-1].last_offset + 1
        assert [o for o, _ in all_values(recovered)] == [o for o in range(40) if o != dropped]


def test_a_swap_whose_batches_were_not_renamed_yet_is_undone(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    put(log, b"a")
    log.close()
    index = folder / "00000000000000000000.timeindex"
    before = index.read_bytes()
    Path(f"{index}.swap").write_bytes(b"of a compacted segment")
    (folder / "00000000000000000000.log.cleaned").write_bytes(b"half")
    assert all_values(opened(disk, str(folder))) == [(0, b"a")]
    assert index.read_bytes() == before
    assert not list(folder.glob("*.swap"))
