"""Leader epochs in batches, which no checksum covers: what is believed of them."""

from __future__ import annotations

import logging
from pathlib import Path
from struct import pack_into

import pytest
from tests.log.making import (
    NOW_MS,
    TOPIC_ID,
    a_batch,
    all_values,
    copied,
    put,
    settle,
)

from penstock.config import TopicConfig
from penstock.log import layout, notes
from penstock.log.leader_epochs import EpochStart, LeaderEpochs
from penstock.log.partition_log import PartitionLog
from penstock.log.recovery import recover
from penstock.wire import batch as batches
from penstock.wire.batch import Offset
from penstock.world.real_disk import RealDisk

FIRST = "00000000000000000000.log"
SIZE = len(a_batch(b"v"))
REACHED = 6


def filled_with(log: PartitionLog, epochs: list[int]) -> None:
    """A batch of one record for each."""
    for epoch in epochs:
        put(log, b"v", epoch=epoch)
    settle(log)


def change_epoch(folder: Path, number: int, epoch: int) -> None:
    data = bytearray((folder / FIRST).read_bytes())
    pack_into(">i", data, number * SIZE + 12, epoch)
    (folder / FIRST).write_bytes(data)


def flipped(epoch: int, bit: int) -> int:
    changed = epoch ^ 1 << bit
    return changed - (1 << 32) if bit == 31 else changed


def recovered(
    disk: RealDisk, folder: Path, reached: int | None = REACHED, recovery_point: int = 0
) -> PartitionLog:
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    log.epoch_reached, log.recovery_point = reached, recovery_point
    for _ in recover(log):
        pass
    return log


def test_epochs_of_one_batch_each_are_believed(
    log: PartitionLog, disk: RealDisk, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    filled_with(log, [0, 1, 3, 4, 6])
    expected = [(0, 0), (1, 1), (3, 2), (4, 3), (6, 4)]
    for reached in (REACHED, None):
        assert recovered(disk, folder, reached).epochs.entries == expected
    assert not caplog.records


@pytest.mark.parametrize("bit", range(32))
@pytest.mark.parametrize("number", [1, 5, 8], ids=["first epoch", "middle", "last but one"])
def test_a_wrong_epoch_within_an_epoch_moves_the_start_of_none(
    log: PartitionLog,
    disk: RealDisk,
    folder: Path,
    caplog: pytest.LogCaptureFixture,
    number: int,
    bit: int,
) -> None:
    epochs = [1] * 3 + [5] * 4 + [6] * 3
    filled_with(log, epochs)
    change_epoch(folder, number, flipped(epochs[number], bit))
    again = recovered(disk, folder)
    assert again.epochs.entries == [(1, 0), (5, 3), (6, 7)]
    assert len(all_values(again)) == 10
    assert f"the one at offset {number}" in caplog.text


@pytest.mark.parametrize("bit", range(32))
def test_a_wrong_epoch_of_the_last_batch_makes_no_epoch_that_has_not_begun(
    log: PartitionLog, disk: RealDisk, folder: Path, bit: int
) -> None:
    filled_with(log, [1] * 3 + [5] * 3)
    change_epoch(folder, 5, flipped(5, bit))
    again = recovered(disk, folder)
    assert again.latest_epoch <= REACHED
    assert again.epochs.entries[:2] == [(1, 0), (5, 3)]
    assert [each.start_offset for each in again.epochs.entries[2:]] in ([], [5])
    assert len(all_values(again)) == 6
    assert not again.damage


def test_a_batch_that_may_be_of_either_epoch_counts_for_the_later(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    """So that a follower cuts off what it may have in its place, and is sent this one."""
    filled_with(log, [1, 1, 1, 4, 4, 4])
    change_epoch(folder, 2, 0)
    assert recovered(disk, folder).epochs.entries == [(1, 0), (4, 2)]
    change_epoch(folder, 2, 1)
    change_epoch(folder, 3, 5)
    assert recovered(disk, folder).epochs.entries == [(1, 0), (4, 3)]


@pytest.mark.parametrize("wrong", [0, 2, 5, 7, 1 << 20])
def test_what_was_noted_with_the_recovery_point_is_not_asked_of_batches(
    log: PartitionLog, disk: RealDisk, folder: Path, wrong: int
) -> None:
    filled_with(log, [1, 1, 4, 4])
    notes.write_epochs(log, f"{folder}/{layout.EPOCHS_FILE}", log.epochs.encode())
    filled_with(log, [4, 6, 6])
    for number in (1, 2, 3):
        change_epoch(folder, number, wrong)
        again = recovered(disk, folder, recovery_point=4)
        assert again.epochs.entries == [(1, 0), (4, 2), (6, 5)]


@pytest.mark.parametrize("where", [layout.EPOCHS_FILE, *layout.BEGUN_FILES, None])
def test_an_epoch_past_the_clusters_is_believed_if_more_than_one_batch_knows_of_it(
    log: PartitionLog, disk: RealDisk, folder: Path, where: str | None
) -> None:
    """The store may be older than the data."""
    filled_with(log, [1, 1, 9] if where else [1, 1, 9, 9])
    if where is not None:
        begun = LeaderEpochs([EpochStart(9, 2)])
        (folder / where).write_bytes(begun.encode())
    assert recovered(disk, folder).latest_epoch == 9


def test_epochs_are_found_again_without_their_file_past_a_wrong_one(
    log: PartitionLog, disk: RealDisk, folder: Path, tmp_path: Path
) -> None:
    filled_with(log, [1, 1, 1, 4, 4, 4])
    log.close()
    (folder / layout.EPOCHS_FILE).unlink()
    for number, wrong in ((1, 9), (4, 2), (5, 1 << 20)):
        copy = copied(folder, tmp_path / "copy-0")
        change_epoch(copy, number, wrong)
        again = PartitionLog(disk, str(copy), TOPIC_ID, TopicConfig())
        again.end_offset = again.written_end = again.synced_end = again.recovery_point = 6
        again.epoch_reached = 4
        again.open()
        assert again.epochs.entries == [(1, 0), (4, 3)]


def test_a_follower_has_the_epochs_of_the_batches_it_is_sent_whatever_it_had_before(
    disk: RealDisk, tmp_path: Path
) -> None:
    """It has cut off all that it had, as its history is another one."""
    follower = PartitionLog(disk, str(tmp_path / "copy-0"), TOPIC_ID, TopicConfig())
    for offset, epoch in ((0, 1), (0, 0), (1, 0), (2, 2)):
        batch = a_batch(b"v")
        batches.stamp(batch, Offset(offset), epoch)
        if offset < follower.end_offset:
            follower.truncate_to(offset)
        follower.append_batches(memoryview(batch), NOW_MS)
    assert follower.epochs.entries == [(0, 0), (2, 2)]


def test_many_wrong_epochs_are_told_in_one_line(
    log: PartitionLog, disk: RealDisk, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    filled_with(log, [3] * 30)
    for number in range(4, 20, 2):
        change_epoch(folder, number, number % 3)
    with caplog.at_level(logging.WARNING):
        assert recovered(disk, folder).epochs.entries == [(3, 0)]
    (line,) = caplog.messages
    assert "of 8 batches cannot be true, first of the one at offset 4" in line
