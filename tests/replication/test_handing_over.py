"""Whether what a broker has of a partition that it holds no more may go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.log.making import TOPIC_ID, put, settle

from penstock.config import TopicConfig
from penstock.log.partition_log import PartitionLog
from penstock.replication.handing_over import is_handed_over
from penstock.world.real_disk import RealDisk


@pytest.fixture
def disk() -> Iterator[RealDisk]:
    disk = RealDisk()
    yield disk
    disk.close()


@pytest.fixture
def left(disk: RealDisk, tmp_path: Path) -> PartitionLog:
    """Two records of epoch 1, then two of epoch 3, of which the last is not committed."""
    log = PartitionLog(disk, str(tmp_path / "left"), TOPIC_ID, TopicConfig())
    for epoch in (1, 1, 3, 3):
        put(log, b"value", epoch=epoch)
    settle(log)
    log.high_watermark = 3
    return log


@pytest.fixture
def leader(disk: RealDisk, tmp_path: Path) -> PartitionLog:
    return PartitionLog(disk, str(tmp_path / "leader"), TOPIC_ID, TopicConfig())


def is_there(left: PartitionLog, leader: PartitionLog) -> bool:
    return is_handed_over(left, *leader.epoch_end_offset(left.latest_epoch))


@pytest.mark.parametrize("epochs", [(1, 1, 3, 3), (1, 1, 3, 3, 3, 4), (1, 1, 3, 5)])
def test_what_a_leader_has_as_far_as_it_was_committed_may_go(
    left: PartitionLog, leader: PartitionLog, epochs: tuple[int, ...]
) -> None:
    for epoch in epochs:
        put(leader, b"value", epoch=epoch)
    assert is_there(left, leader)


@pytest.mark.parametrize("epochs", [(), (5,), (5, 5, 5, 5, 5), (1, 1), (1, 1, 5, 5)])
def test_what_was_committed_and_is_not_there_may_not(
    left: PartitionLog, leader: PartitionLog, epochs: tuple[int, ...]
) -> None:
    for epoch in epochs:
        put(leader, b"value", epoch=epoch)
    assert not is_there(left, leader)


def test_a_leader_that_has_dropped_it_had_it(left: PartitionLog, leader: PartitionLog) -> None:
    for epoch in (1, 1, 3, 3, 5):
        put(leader, b"value", epoch=epoch)
    settle(leader)
    leader.advance_start(4)
    assert is_there(left, leader)


def test_of_a_log_whose_high_watermark_a_crash_has_taken_something_must_be_there(
    left: PartitionLog, leader: PartitionLog
) -> None:
    left.high_watermark = 0
    put(leader, b"value", epoch=5)
    assert not is_there(left, leader)


def test_a_log_without_records_may_go(left: PartitionLog, leader: PartitionLog) -> None:
    left.advance_start(4)
    assert is_there(left, leader)
