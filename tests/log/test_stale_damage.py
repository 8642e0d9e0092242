"""Damage that is gone, with its bytes: nothing else is to be held for damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.log.making import TOPIC_ID, a_batch, all_values, copied, opened, put

from penstock.config import TopicConfig
from penstock.log import layout, recovery
from penstock.log.damage import Damage, encode
from penstock.log.partition_log import PartitionLog
from penstock.wire.batch import Offset, stamp
from penstock.world.real_disk import RealDisk

SIZE = len(a_batch(b"00", b"b", b"c"))
CONFIG = TopicConfig(segment_bytes=4 * SIZE)
"""Four batches of three records each in a segment, so one begins every twelve offsets."""
END = 48
CHANGED_AT = 70


@pytest.fixture
def damaged(disk: RealDisk, folder: Path) -> PartitionLog:
    """Its second segment: batches are all of one size, and the third is bad."""
    log = PartitionLog(disk, str(folder), TOPIC_ID, CONFIG)
    for number in range(END // 3):
        put(log, b"%02d" % number, b"b", b"c")
    log.close()
    path = folder / "00000000000000000012.log"
    data = bytearray(path.read_bytes())
    data[2 * SIZE + CHANGED_AT] ^= 1
    path.write_bytes(data)
    log = opened(disk, str(folder), CONFIG)
    assert [stretch[:3] for stretch in log.damage] == [(18, 21, 12)]
    return log


def after_a_clean_stop(log: PartitionLog) -> PartitionLog:
    log.close()
    again = PartitionLog(log.disk, log.folder, TOPIC_ID, CONFIG)
    again.start_offset = log.start_offset
    again.end_offset = again.written_end = again.synced_end = again.recovery_point = log.end_offset
    again.open()
    return again


def delete(log: PartitionLog) -> int:
    log.advance_start(24)
    return 24


def copy_again(log: PartitionLog) -> int:
    """As a follower does."""
    log.truncate_to(18)
    for number in range(6, END // 3):
        batch = a_batch(b"%02d" % number, b"b", b"c")
        stamp(batch, Offset(number * 3), 0)
        log.append_batches(memoryview(batch), 0)
        log.write_out()
    return 0


def start_over(log: PartitionLog) -> int:
    log.start_over(24)
    for number in range(24 // 3, END // 3):
        put(log, b"%02d" % number, b"b", b"c")
    return 24


@pytest.mark.parametrize("way", [delete, copy_again, start_over])
def test_damage_that_is_gone_is_forgotten_for_good(
    disk: RealDisk, damaged: PartitionLog, way: Callable[[PartitionLog], int]
) -> None:
    start = way(damaged)
    assert damaged.damage == []
    for log in (damaged, after_a_clean_stop(damaged), opened(disk, damaged.folder, CONFIG)):
        assert log.damage == []
        assert [offset for offset, _ in all_values(log, start)] == list(range(start, END))
    assert not Path(damaged.folder, layout.DAMAGE_FILE).exists()


def test_a_note_of_a_segment_that_is_gone_says_nothing_of_others(
    disk: RealDisk, damaged: PartitionLog, folder: Path
) -> None:
    """As when a crash comes after the segments were dropped, and before that was noted."""
    noted = encode([Damage(18, 21, 12, 2 * SIZE, 3 * SIZE)])
    delete(damaged)
    (folder / layout.DAMAGE_FILE).write_bytes(noted)
    copy = copied(folder, folder.parent / "copy-0")
    recovered = opened(disk, str(copy), CONFIG)
    for log in (after_a_clean_stop(damaged), recovered):
        assert log.damage == []
        assert [offset for offset, _ in all_values(log, 24)] == list(range(24, END))


def test_damage_that_is_still_there_stays_noted(damaged: PartitionLog) -> None:
    damaged.advance_start(12)
    assert len(after_a_clean_stop(damaged).damage) == 1


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_note_that_cannot_be_read_is_made_again_from_all_of_the_log(
    disk: RealDisk, damaged: PartitionLog, folder: Path, is_clean: bool
) -> None:
    found = damaged.damage
    damaged.close()
    (folder / layout.DAMAGE_FILE).write_bytes(b"garbage")
    if is_clean:
        again = after_a_clean_stop(damaged)
    else:
        again = opened(disk, str(folder), CONFIG, recovery_point=END)
    assert again.damage == found
    assert (folder / layout.DAMAGE_FILE).read_bytes() == encode(found)
    assert [offset for offset, _ in all_values(again, 21)] == list(range(21, END))


def test_a_note_that_cannot_be_read_stays_until_all_of_the_log_was_looked_through(
    disk: RealDisk, damaged: PartitionLog, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / layout.DAMAGE_FILE).write_bytes(b"garbage")
    monkeypatch.setattr(recovery, "BATCHES_A_SLICE", 1)
    steps = recovery.recover(PartitionLog(disk, str(folder), TOPIC_ID, CONFIG))
    next(steps)
    assert (folder / layout.DAMAGE_FILE).read_bytes() == b"garbage"
    for _ in steps:
        pass
    assert (folder / layout.DAMAGE_FILE).read_bytes() == encode(damaged.damage)
