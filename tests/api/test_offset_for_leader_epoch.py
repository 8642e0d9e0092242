from __future__ import annotations

import pytest
from tests.api.desk import Desk

from penstock.errors import ErrorCode
from penstock.wire.messages.k23_offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)


def ask(
    desk: Desk, epoch: int, current: int = -1, index: int = 0, version: int = 4
) -> EpochEndOffset:
    topic = OffsetForLeaderTopic("orders", [OffsetForLeaderPartition(index, current, epoch)])
    (partition,) = (
        desk.ask(OffsetForLeaderEpochRequest(topics=[topic]), version).topics[0].partitions
    )
    assert isinstance(partition, EpochEndOffset)
    return partition


@pytest.fixture
def two_epochs(desk: Desk) -> Desk:
    """Records 0 to 9 of epoch 0, then 10 to 14 of epoch 1, and a leader of epoch 1."""
    desk.create("orders")
    desk.append("orders", count=10)
    desk.new_term("orders")
    again = desk.restart()
    again.append("orders", count=5)
    return again


@pytest.mark.parametrize("version", range(2, 5))
def test_an_epoch_ended_where_the_next_began(two_epochs: Desk, version: int) -> None:
    found = ask(two_epochs, 0, version=version)
    assert (found.error_code, found.leader_epoch, found.end_offset) == (0, 0, 10)


def test_the_current_epoch_ends_with_the_log(two_epochs: Desk) -> None:
    found = ask(two_epochs, 1)
    assert (found.leader_epoch, found.end_offset) == (1, 15)


def test_who_knows_another_leader_is_told_so(two_epochs: Desk) -> None:
    assert ask(two_epochs, 0, current=0).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert ask(two_epochs, 0, current=2).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert ask(two_epochs, 0, current=1).error_code == ErrorCode.NONE


def test_a_partition_that_is_not_there_is_refused(two_epochs: Desk) -> None:
    assert ask(two_epochs, 0, index=9).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
