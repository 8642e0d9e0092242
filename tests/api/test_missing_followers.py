"""What is asked of a group, or falls due, while too few replicas of it are in sync."""

from __future__ import annotations

import pytest
from tests.api.grouping import GROUP, Room, commit, lose_followers

from penstock.coordination.group import offsets
from penstock.coordination.pace import Pace
from penstock.errors import ErrorCode
from penstock.wire.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from penstock.wire.messages.k42_delete_groups import DeleteGroupsRequest
from penstock.wire.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)


def committed(room: Room) -> dict[int, int]:
    """By partition, as anyone can see it."""
    fetch = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=None)])
    (found,) = room.ask(fetch).answer.groups
    return {part.partition_index: part.committed_offset for part in found.topics[0].partitions}


def test_what_cannot_be_deleted_for_sure_stays_as_it_is(room: Room) -> None:
    room.tell(commit(partitions=(0, 1)))
    lose_followers(room)
    end = room.leader().log.end_offset
    parts = [OffsetDeleteRequestPartition(0)]
    some = OffsetDeleteRequest(GROUP, [OffsetDeleteRequestTopic("orders", parts)])
    assert room.ask(some).code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    (deleted,) = room.ask(DeleteGroupsRequest([GROUP])).answer.results
    assert deleted.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert room.leader().log.end_offset == end
    assert committed(room) == {0: 5, 1: 5}


def test_a_group_of_many_offsets_that_cannot_be_deleted_for_sure_stays_as_it_is(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offsets, "OFFSETS_A_TURN", 1)
    room.tell(commit(partitions=(0, 1)))
    lose_followers(room)
    (deleted,) = room.ask(DeleteGroupsRequest([GROUP])).answer.results
    assert deleted.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    room.wait(1_000)
    assert committed(room) == {0: 5, 1: 5}


def test_old_offsets_stay_while_their_end_could_not_be_committed(room: Room) -> None:
    room.tell(commit())
    lose_followers(room)
    room.clock.time_ms += 8 * 24 * 3_600_000
    list(room.groups.forget_old(Pace()))
    assert committed(room) == {0: 5}
    room.leader().replicas = (1,)
    list(room.groups.forget_old(Pace()))
    assert room.shard().groups.get(GROUP) is None
