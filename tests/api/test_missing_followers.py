"""What is asked of a group, or falls due, while too few replicas of it are in sync."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.api.grouping import GROUP, Room, commit, join, lose_followers, sync

from penstock.api.handlers import (
    k08_offset_commit,
    k09_offset_fetch,
    k13_leave_group,
    k42_delete_groups,
)
from penstock.coordination.group import offsets, protocols
from penstock.coordination.group.aging import Aging
from penstock.coordination.pace import Pace
from penstock.errors import ErrorCode
from penstock.wire.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from penstock.wire.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from penstock.wire.messages.k42_delete_groups import DeleteGroupsRequest
from penstock.wire.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from penstock.wire.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


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
    list(room.groups.sweep(Aging, Pace()))
    assert committed(room) == {0: 5}
    room.leader().replicas = (1,)
    list(room.groups.sweep(Aging, Pace()))
    assert room.shard().kept.get(GROUP) is None


def at_first_pause(room: Room, happens: Callable[[], None]) -> None:
    """Requests that take several turns are gone on with at once, but for that."""

    async def in_steps(steps: Any) -> Any:
        is_first = True
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value
            if is_first:
                is_first = False
                happens()

    room.desk.broker.in_steps = in_steps


def lose_followers_at_first_pause(room: Room) -> None:
    def happens() -> None:
        room.sync()
        lose_followers(room)

    at_first_pause(room, happens)


@pytest.mark.parametrize("version", [2, 5])
def test_a_last_member_that_cannot_leave_for_sure_leaves_its_shard_as_it_is(
    room: Room, version: int
) -> None:
    (member_id,) = room.settle()
    shard = room.shard()
    lose_followers(room)
    leave = LeaveGroupRequest(GROUP, member_id)
    if version >= k13_leave_group.MANY_SINCE:
        leave = LeaveGroupRequest(GROUP, members=[MemberIdentity(member_id)])
    assert room.ask(leave, version).code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert room.shard() is shard
    group = shard.kept.get(GROUP)
    assert group is not None
    assert group.body.members.keys() == {member_id}


def test_a_plan_that_cannot_be_stored_for_sure_leaves_its_shard_as_it_is(room: Room) -> None:
    asked = room.ask(join(), 3)
    room.wait(10_000)
    shard, joined = room.shard(), asked.answer
    lose_followers(room)
    plan = sync(member_id=joined.member_id, generation=joined.generation_id)
    assert room.ask(plan).code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert room.shard() is shard


def test_each_partition_of_a_large_commit_is_told_of_once(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(k08_offset_commit, "OFFSETS_A_TURN", 2)
    room.desk.create("wide", partitions=5)
    lose_followers_at_first_pause(room)
    (told,) = room.ask(commit(topic="wide", partitions=tuple(range(5)))).answer.topics
    refused = int(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    codes = [(part.partition_index, part.error_code) for part in told.partitions]
    assert codes == [(0, 0), (1, 0), (2, refused), (3, refused), (4, refused)]
    assert committed(room) == {0: 5, 1: 5}


def test_a_deletion_that_is_decided_is_not_refused_any_more(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offsets, "OFFSETS_A_TURN", 1)
    monkeypatch.setattr(k42_delete_groups, "OFFSETS_A_TURN", 1)
    room.tell(commit(partitions=(0, 1)))
    lose_followers_at_first_pause(room)
    (deleted,) = room.ask(DeleteGroupsRequest([GROUP])).answer.results
    assert deleted.error_code == ErrorCode.NONE
    room.leader().replicas = (1,)
    room.wait(1_000)
    assert room.shard().kept.get(GROUP) is None


@pytest.mark.parametrize("offsets_a_turn", [1, 1_000])
def test_no_part_of_a_group_is_seen_that_is_deleted_meanwhile(
    room: Room, monkeypatch: pytest.MonkeyPatch, offsets_a_turn: int
) -> None:
    monkeypatch.setattr(offsets, "OFFSETS_A_TURN", offsets_a_turn)
    monkeypatch.setattr(k09_offset_fetch, "LOOKUP_COST", 10_000)
    room.desk.create("more", partitions=1)
    room.tell(commit(partitions=(0, 1)))
    room.tell(commit(topic="more"))
    group = room.shard().kept.get(GROUP)
    assert group is not None
    at_first_pause(room, lambda: room.shard().take_away(group, protocols.delete))
    fetch = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=None)])
    asked = room.ask(fetch)
    room.sync()
    (found,) = asked.answer.groups
    assert found.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert not found.topics


def test_a_group_that_cannot_change_protocol_for_sure_stays_as_it_is(room: Room) -> None:
    joined = room.ask(join(), 3)
    room.wait(10_000)
    room.tell(sync(joined.answer.member_id))
    waiting = room.ask(join(), 3)
    shard = room.shard()
    lose_followers(room)
    native = ConsumerGroupHeartbeatRequest(
        GROUP,
        "native",
        0,
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    assert room.ask(native).code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert room.shard() is shard
    assert waiting.is_waiting
