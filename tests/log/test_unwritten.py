"""Holes that a power loss leaves in a log, and what is not to be taken for one."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from tests.log.making import (
    OTHER_ID,
    TOPIC_ID,
    a_batch,
    a_folder,
    all_values,
    copied,
    opened,
    put,
    split,
)

from penstock.config import TopicConfig
from penstock.log import cutting, recovery
from penstock.log.partition_log import PartitionLog
from penstock.log.unwritten import SECTOR_BYTES, has_hole
from penstock.log.window import Window
from penstock.wire import batch as batches
from penstock.wire.batch import Offset
from penstock.world.real_disk import RealDisk
from penstock.world.real_file import RealFile

FIRST = "00000000000000000000.log"
TEXT = b"The quick brown fox jumps over the lazy dog. "


def some_text(number: int, length: int) -> bytes:
    return (b"%d " % number + TEXT * (length // len(TEXT) + 1))[:length]


def filled(disk: RealDisk, folder: Path, lengths: list[int]) -> bytes:
    """A log of batches with two records each, of these lengths; returns its bytes."""
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    for number, length in enumerate(lengths):
        put(
            log,
            some_text(number, length),
            some_text(number, length // 2),
            producer_id=7,
            producer_epoch=0,
            base_sequence=2 * number,
        )
    return (folder / FIRST).read_bytes()


def boundaries(data: bytes) -> list[int]:
    """Where each batch begins."""
    found = [0]
    for batch in split(data):
        found.append(found[-1] + len(batch))
    return found[:-1]


def with_hole(data: bytes, start: int, end: int) -> bytes:
    return data[:start] + bytes(len(data[start:end])) + data[end:]


def next_sector(position: int) -> int:
    return position - position % SECTOR_BYTES + SECTOR_BYTES


def whole_before(data: bytes, changed: bytes) -> int:
    """How many batches come before the first that is not as it was."""
    begins = [*boundaries(data), len(data)]
    return next(n for n, end in enumerate(begins[1:]) if data[:end] != changed[:end])


def end_of(log: PartitionLog) -> tuple[int, int]:
    """Where it ends, and how much of it is damaged."""
    return log.end_offset, len(log.damage)


# Holes


@pytest.mark.parametrize("sectors", [1, 3])
def test_a_hole_anywhere_is_cut_off_with_all_that_follows(
    disk: RealDisk, folder: Path, sectors: int
) -> None:
    data = filled(disk, folder, [20, 300, 900, 40, 2500, 60, 700])
    for start in range(0, len(data) - sectors * SECTOR_BYTES, SECTOR_BYTES):
        changed = with_hole(data, start, start + sectors * SECTOR_BYTES)
        (folder / FIRST).write_bytes(changed)
        again = opened(disk, str(folder))
        kept = whole_before(data, changed)
        assert end_of(again) == (2 * kept, 0)
        assert (folder / FIRST).read_bytes() == data[: boundaries(data)[kept]]
        assert put(again, b"next").base_offset == 2 * kept


def test_a_hole_may_begin_where_the_file_once_ended(disk: RealDisk, folder: Path) -> None:
    """The sector had been written with what came before, and not again with this batch."""
    data = filled(disk, folder, [40 + 37 * number % 101 for number in range(150)])
    rests = set()
    for start in [each for each in boundaries(data)[1:-1] if next_sector(each) - each < 100]:
        end = next_sector(start)
        changed = with_hole(data, start, end)
        if changed == data:
            continue  # the first bytes of an offset are zeros anyway
        rests.add(end - start)
        (folder / FIRST).write_bytes(changed)
        assert end_of(opened(disk, str(folder))) == (2 * whole_before(data, changed), 0)
    assert min(rests) < 12, "some take not even the length"
    assert max(rests) > 61, "some take more than the header"


def test_a_hole_in_a_large_value_is_cut_off(disk: RealDisk, folder: Path) -> None:
    data = filled(disk, folder, [100, 400_000, 100])
    (folder / FIRST).write_bytes(with_hole(data, 40 * 4096, 41 * 4096))
    assert end_of(opened(disk, str(folder))) == (2, 0)


def test_a_hole_is_cut_off_though_good_segments_follow(disk: RealDisk, folder: Path) -> None:
    data = filled(disk, folder, [300] * 10)
    log = opened(disk, str(folder))
    log.roll()
    put(log, b"later")
    (folder / FIRST).write_bytes(with_hole(data, 1024, len(data)))
    again = opened(disk, str(folder))
    assert end_of(again) == (2 * whole_before(data, with_hole(data, 1024, 1536)), 0)
    assert (folder / "00000000000000000020.log.torn").read_bytes().endswith(a_batch(b"later")[21:])


def test_what_was_cut_off_is_kept_and_told_of(
    disk: RealDisk, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = filled(disk, folder, [300] * 10)
    changed = with_hole(data, 1024, 1536)
    (folder / FIRST).write_bytes(changed)
    again = opened(disk, str(folder))
    position = boundaries(data)[again.end_offset // 2]
    kept = folder / f"{again.end_offset:020d}.log.torn"
    assert kept.read_bytes() == changed[position:]
    assert f"offsets from {again.end_offset} on were never synced" in caplog.text
    assert str(folder) in again.begin_sync().folders


def test_a_producer_goes_on_with_the_batch_that_was_lost(disk: RealDisk, folder: Path) -> None:
    data = filled(disk, folder, [300] * 10)
    (folder / FIRST).write_bytes(with_hole(data, 1024, 1536))
    again = opened(disk, str(folder))
    end = again.end_offset
    done = put(again, b"a", b"b", producer_id=7, producer_epoch=0, base_sequence=end)
    assert (done.base_offset, done.duplicate) == (end, False)


def test_a_cut_that_is_interrupted_comes_to_the_same_end(
    disk: RealDisk, folder: Path, tmp_path: Path
) -> None:
    data = filled(disk, folder, [300] * 10)
    log = opened(disk, str(folder))
    for _ in range(3):
        log.roll()
        put(log, b"later")
    (folder / FIRST).write_bytes(with_hole(data, 1024, 1536))
    wanted = opened(disk, str(copied(folder, tmp_path / "wanted-0")))
    for steps in range(4):
        copy = copied(folder, tmp_path / "copy-0")
        started = PartitionLog(disk, str(copy), TOPIC_ID, TopicConfig())
        for number, _ in enumerate(recovery.recover(started)):
            if number == steps:
                break
        assert all_values(opened(disk, str(copy))) == all_values(wanted)


def test_no_more_than_some_files_of_earlier_cuts_are_kept(
    disk: RealDisk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "KEPT_MAX", 3)
    data = filled(disk, folder, [300] * 30)
    cuts = []
    for sector in range(20, 2, -2):
        changed = with_hole(data, sector * SECTOR_BYTES, (sector + 1) * SECTOR_BYTES)
        (folder / FIRST).write_bytes(changed)
        cuts.append(opened(disk, str(folder)).end_offset)
    kept = [int(path.name[:20]) for path in folder.glob("*.log.torn")]
    assert sorted(kept) == sorted(cuts[-4:])


def test_a_segment_that_is_too_short_was_not_synced_nor_what_follows(
    disk: RealDisk, folder: Path
) -> None:
    data = filled(disk, folder, [300] * 10)
    log = opened(disk, str(folder))
    log.roll()
    put(log, b"later")
    for size in (len(data) - 1, boundaries(data)[-1] + 30, boundaries(data)[-1], 0):
        copy = copied(folder, folder.parent / "copy-0")
        (copy / FIRST).write_bytes(data[:size])
        again = opened(disk, str(copy))
        assert end_of(again) == (2 * len(split(data[: boundaries(data)[-1]])) if size else 0, 0)
        assert (copy / "00000000000000000020.log.torn").exists()


# No holes


def test_a_hole_below_the_recovery_point_is_damage(disk: RealDisk, folder: Path) -> None:
    data = filled(disk, folder, [300] * 10)
    changed = with_hole(data, 1024, 1536)
    (folder / FIRST).write_bytes(changed)
    again = opened(disk, str(folder), recovery_point=20)
    assert end_of(again) == (20, 1)
    assert (folder / FIRST).read_bytes() == changed


def test_a_segment_below_the_recovery_point_that_is_too_short_is_damage(
    disk: RealDisk, folder: Path
) -> None:
    data = filled(disk, folder, [300] * 10)
    log = opened(disk, str(folder))
    log.roll()
    put(log, b"later")
    (folder / FIRST).write_bytes(data[: boundaries(data)[-2] + 10])
    assert end_of(opened(disk, str(folder), recovery_point=18)) == (21, 1)


@pytest.mark.parametrize("kind", ["text", "zeros", "some zeros"])
def test_a_flipped_bit_past_the_recovery_point_is_damage(
    disk: RealDisk, folder: Path, kind: str
) -> None:
    value = {"text": some_text(1, 1500), "zeros": bytes(1500), "some zeros": bytes(700) + TEXT * 9}
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    for _ in range(3):
        put(log, value[kind], value[kind])
    data = (folder / FIRST).read_bytes()
    one = len(data) // 3
    for position in [*range(one + 8, one + 61, 5), *range(one + 61, 2 * one, 173)]:
        if 12 <= position - one < 16:
            continue  # the leader's epoch, which no CRC covers
        changed = bytearray(data)
        changed[position] ^= 1 << position % 8
        (folder / FIRST).write_bytes(changed)
        assert end_of(opened(disk, str(folder))) == (6, 1), f"byte {position - one} of the batch"
        assert (folder / FIRST).read_bytes() == changed


def test_a_flipped_bit_in_a_length_at_the_end_of_a_segment_is_damage(
    disk: RealDisk, folder: Path
) -> None:
    data = bytearray(filled(disk, folder, [300] * 10))
    log = opened(disk, str(folder))
    log.roll()
    put(log, b"later")
    data[boundaries(bytes(data))[-1] + 10] ^= 0x40
    (folder / FIRST).write_bytes(data)
    assert end_of(opened(disk, str(folder))) == (21, 1)


KINDS: dict[str, Callable[[Random], bytes]] = {
    "text": lambda random: TEXT * random.randint(1, 30),
    "bytes": lambda random: random.randbytes(random.randint(5, 600)),
    "numbers": lambda random: struct.pack(">40q", *(random.randrange(999) for _ in range(40))),
    "zeros": lambda random: bytes(random.randint(5, 2000)),
    "padded": lambda random: bytes(random.randrange(700)) + random.randbytes(100),
}


def random_log(random: Random, kind: str) -> bytes:
    data, offset = b"", 0
    for _ in range(random.randint(4, 12)):
        values = [KINDS[kind](random) for _ in range(random.randint(1, 5))]
        batch = a_batch(*values)
        batches.stamp(batch, Offset(offset), 0)
        data, offset = data + batch, offset + len(values)
    return data


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_a_fault_does_to_a_batch_it_is_no_hole(
    disk: RealDisk, tmp_path: Path, kind: str
) -> None:
    random = Random(kind)
    for number in range(60):
        data = bytearray(random_log(random, kind))
        bad = random.choice(boundaries(bytes(data)))
        size, offset = batches.size_at(data[bad:]), batches.read_header(data[bad:]).base_offset
        length = random.choice([1, 1, random.randint(2, 60)])
        start = bad + random.randrange(size - length)
        data[start : start + length] = random.randbytes(length)
        path = tmp_path / str(number)
        path.write_bytes(data)
        assert not has_hole(Window(disk.open(str(path)), 0), bad, offset), f"{start}+{length}"


def test_zeros_that_do_not_keep_to_sectors_are_damage(disk: RealDisk, folder: Path) -> None:
    data = filled(disk, folder, [300, 3000, 300])
    for start, end in [(700, 1400), (1024, 1400), (700, 1536)]:
        (folder / FIRST).write_bytes(with_hole(data, start, end))
        assert end_of(opened(disk, str(folder))) == (6, 1)


def test_a_hole_beside_zeros_of_the_records_own_is_not_judged(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    put(log, some_text(0, 100))
    put(log, bytes(200) + some_text(1, 3000))
    put(log, some_text(2, 100))
    data = (folder / FIRST).read_bytes()
    (folder / FIRST).write_bytes(with_hole(data, 1024, 1536))
    assert end_of(opened(disk, str(folder))) == (3, 1)


def test_without_a_checkpoint_a_hole_may_be_older_than_anybody_knows(
    disk: RealDisk, tmp_path: Path
) -> None:
    folder = a_folder(disk, tmp_path / "data")
    log = folder.log_for("orders", 0, TOPIC_ID, TopicConfig())
    folder.checkpoint()
    for number in range(10):
        put(log, some_text(number, 300))
    folder.abandon()
    path = tmp_path / "data" / "orders-0" / FIRST
    data = path.read_bytes()
    path.write_bytes(with_hole(data, 1024, 1536))
    without = shutil.copytree(tmp_path / "data", tmp_path / "without")
    (without / "recovery-point-offset-checkpoint").unlink()
    ends = []
    for each in (tmp_path / "data", without):
        again = a_folder(disk, each)
        found = again.log_for("orders", 0, TOPIC_ID, TopicConfig())
        for _ in again.recover_all():
            pass
        ends.append(end_of(found))
        again.abandon()
    lost = next(n for n, end in enumerate(boundaries(data)[1:]) if end > 1024)
    assert ends == [(lost, 0), (10, 1)]


def test_a_log_that_was_put_back_is_not_covered_by_checkpoints_of_another(
    disk: RealDisk, tmp_path: Path
) -> None:
    ends = []
    for known in (TOPIC_ID, OTHER_ID):
        path = tmp_path / known.hex()
        folder = a_folder(disk, path)
        folder.log_for("orders", 0, known, TopicConfig())
        folder.checkpoint()
        folder.abandon()
        data = filled(disk, path / "orders-0", [300] * 10)
        (path / "orders-0" / FIRST).write_bytes(with_hole(data, 1024, 1536))
        again = a_folder(disk, path)
        log = again.log_for("orders", 0, TOPIC_ID, TopicConfig())
        for _ in again.recover_all():
            pass
        ends.append(end_of(log))
        again.abandon()
    assert ends == [(2, 0), (20, 1)]


class ForgettingFile(RealFile):
    __slots__ = ()

    def forget(self, position: int) -> None:
        assert isinstance(self._disk, ForgettingDisk)
        self._disk.forgotten.append((Path(self.path).name, position))


class ForgettingDisk(RealDisk):
    """Remembers what was forgotten."""

    def __init__(self) -> None:
        super().__init__()
        self.forgotten: list[tuple[str, int]] = []

    def open(self, path: str) -> RealFile:
        return ForgettingFile(self, path)


@pytest.mark.parametrize("recovery_point", [0, 8, 20, 21])
def test_past_the_recovery_point_and_only_there_the_disk_is_asked(
    folder: Path, recovery_point: int
) -> None:
    disk = ForgettingDisk()
    data = filled(disk, folder, [300] * 10)
    log = opened(disk, str(folder))
    log.roll()
    put(log, b"later")
    disk.forgotten.clear()
    opened(disk, str(folder), recovery_point=recovery_point)
    later = ("00000000000000000020.log", 0)
    first = [(FIRST, boundaries(data)[recovery_point // 2])] if recovery_point < 20 else []
    assert disk.forgotten == ([*first, later] if recovery_point < 21 else [])
    disk.close()


def test_batches_with_zeros_that_are_good_stay(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    for _ in range(5):
        put(log, bytes(5000))
    assert batches.size_at((folder / FIRST).read_bytes()) > 5000
    assert end_of(opened(disk, str(folder))) == (5, 0)
