"""ShareGroupHeartbeat and ShareGroupDescribe, and what else may be asked about a share group."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.grouping import GROUP, Room, commit, join, lose_followers, sync
from tests.api.reducing import reduce_to

from penstock.coordination.group import protocols
from penstock.coordination.group.aging import Aging
from penstock.coordination.group.share import shares
from penstock.coordination.pace import Pace
from penstock.errors import ErrorCode
from penstock.metadata.changes import Commit
from penstock.metadata.records import FEATURES, FeaturesRecord, encode
from penstock.wire.codec import Message
from penstock.wire.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from penstock.wire.messages.k12_heartbeat import HeartbeatRequest
from penstock.wire.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from penstock.wire.messages.k15_describe_groups import DescribeGroupsRequest
from penstock.wire.messages.k16_list_groups import ListGroupsRequest
from penstock.wire.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from penstock.wire.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from penstock.wire.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest
from penstock.wire.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest
from penstock.wire.messages.k77_share_group_describe import ShareGroupDescribeRequest


def beat(epoch: int = 0, member_id: str = "m1", **fields: Any) -> ShareGroupHeartbeatRequest:
    if epoch == 0:
        fields.setdefault("subscribed_topic_names", ["orders"])
    return ShareGroupHeartbeatRequest(GROUP, member_id, epoch, **fields)


def set_up(room: Room) -> None:
    """All shares that the group waits for are there."""
    group = room.shard().kept.get(GROUP)
    assert group is not None
    done = {room.desk.image.topics["orders"].id: frozenset({0, 1})}
    room.shard().look_after(group, lambda turn, group: shares.initialized(turn, group, done))
    room.sync()


def test_a_member_joins_and_is_told_when_to_come_again(room: Room) -> None:
    answer = room.tell(beat())
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "m1", 1)
    assert answer.heartbeat_interval_ms == 100
    assert answer.assignment.topic_partitions == []
    set_up(room)
    assert room.tell(beat(1)).heartbeat_interval_ms == 500


def test_the_answer_waits_until_the_member_is_stored(room: Room) -> None:
    asked = room.ask(beat())
    assert asked.is_waiting
    room.sync()
    assert asked.code == ErrorCode.NONE


def test_nobody_joins_while_too_few_replicas_are_in_sync(room: Room) -> None:
    lose_followers(room)
    assert room.tell(beat()).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert room.shard().kept.get(GROUP) is None


def test_a_cluster_that_was_not_told_to_use_share_groups_refuses_them(room: Room) -> None:
    record = encode(FeaturesRecord(levels={"share.version": 0}, epoch=2))
    room.desk.change(lambda image: Commit(None, puts=[(FEATURES, record)]))
    answer = room.tell(beat())
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert "share.version" in answer.error_message


def test_a_nameless_group_is_refused(room: Room) -> None:
    request = ShareGroupHeartbeatRequest("", "m1", 0, subscribed_topic_names=["orders"])
    assert room.tell(request).error_code == ErrorCode.INVALID_REQUEST


def test_a_group_is_described_with_what_its_members_have(room: Room) -> None:
    room.tell(beat(rack_id="r1"))
    set_up(room)
    room.tell(beat(1))
    (group,) = room.tell(ShareGroupDescribeRequest([GROUP, GROUP])).groups
    assert (group.error_code, group.group_id, group.group_state) == (0, GROUP, "Stable")
    assert (group.group_epoch, group.assignment_epoch, group.assignor_name) == (2, 2, "simple")
    (member,) = group.members
    assert (member.member_id, member.rack_id, member.member_epoch) == ("m1", "r1", 2)
    assert member.subscribed_topic_names == ["orders"]
    (part,) = member.assignment.topic_partitions
    assert (part.topic_name, part.partitions) == ("orders", [0, 1])


def test_a_group_that_nobody_is_in_is_described_as_empty(room: Room) -> None:
    room.tell(beat())
    room.tell(beat(-1))
    (group,) = room.tell(ShareGroupDescribeRequest([GROUP])).groups
    assert (group.error_code, group.group_state, group.members) == (0, "Empty", [])


def test_what_is_no_share_group_is_not_described(room: Room) -> None:
    room.settle()
    groups = room.tell(ShareGroupDescribeRequest([GROUP, "nobody's"])).groups
    assert [each.error_code for each in groups] == [ErrorCode.GROUP_ID_NOT_FOUND] * 2


def test_a_topic_that_loses_partitions_is_told_of_by_its_new_id(room: Room) -> None:
    room.tell(beat())
    set_up(room)
    room.tell(beat(1))
    before = room.desk.image.topics["orders"].shown_id
    reduce_to(room.desk, "orders", 1)
    group = room.shard().kept.get(GROUP)
    assert group is not None
    room.shard().look_after(
        group, lambda turn, group: protocols.topics_changed(turn, group, ["orders"])
    )
    answer = room.tell(beat(2))
    (part,) = answer.assignment.topic_partitions
    assert part.topic_id != before
    assert part.topic_id == room.desk.image.topics["orders"].shown_id
    assert part.partitions == [0]


def code_of(answer: Any) -> ErrorCode:
    """Of the request, or of the one group or member that it is about."""
    for name in ("groups", "members"):
        for part in getattr(answer, name, ()):
            return ErrorCode(part.error_code)
    return ErrorCode(answer.error_code)


@pytest.mark.parametrize(
    ("request_", "version", "code"),
    [
        (join(), 3, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (sync("m1"), None, ErrorCode.UNKNOWN_MEMBER_ID),
        (HeartbeatRequest(GROUP, 1, "m1"), None, ErrorCode.UNKNOWN_MEMBER_ID),
        (
            LeaveGroupRequest(GROUP, members=[MemberIdentity("m1")]),
            None,
            ErrorCode.UNKNOWN_MEMBER_ID,
        ),
        (
            ConsumerGroupHeartbeatRequest(
                GROUP,
                "m1",
                0,
                rebalance_timeout_ms=1000,
                subscribed_topic_names=["orders"],
                topic_partitions=[],
            ),
            None,
            ErrorCode.GROUP_ID_NOT_FOUND,
        ),
        (ConsumerGroupDescribeRequest([GROUP]), None, ErrorCode.GROUP_ID_NOT_FOUND),
        (DescribeGroupsRequest([GROUP]), None, ErrorCode.GROUP_ID_NOT_FOUND),
        (
            OffsetFetchRequest(
                groups=[OffsetFetchRequestGroup(GROUP, topics=[OffsetFetchRequestTopics("orders")])]
            ),
            None,
            ErrorCode.GROUP_ID_NOT_FOUND,
        ),
        (
            OffsetDeleteRequest(
                GROUP, [OffsetDeleteRequestTopic("orders", [OffsetDeleteRequestPartition(0)])]
            ),
            None,
            ErrorCode.GROUP_ID_NOT_FOUND,
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Message) else "",
)
def test_who_takes_it_for_a_consumer_group_is_refused(
    room: Room, request_: Message, version: int | None, code: ErrorCode
) -> None:
    room.tell(beat())
    assert code_of(room.tell(request_, version)) == code
    assert room.tell(beat(1)).error_code == ErrorCode.NONE


def test_offsets_are_not_committed_for_it(room: Room) -> None:
    room.tell(beat())
    (topic,) = room.tell(commit()).topics
    assert [part.error_code for part in topic.partitions] == [ErrorCode.GROUP_ID_NOT_FOUND]


def test_a_classic_group_is_not_joined_as_a_share_group(room: Room) -> None:
    room.settle()
    answer = room.tell(beat())
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "is a consumer group" in answer.error_message


def test_who_asks_for_readers_of_a_topic_is_told_of_share_groups_too(room: Room) -> None:
    def readers() -> list[tuple[str, str, bool]]:
        answer = room.tell(ListGroupsRequest(reads_topic="orders"))
        return [(each.group_id, each.group_type, each.is_reading) for each in answer.groups]

    assert readers() == []
    room.tell(beat())
    assert readers() == [(GROUP, "Share", True)]
    room.tell(beat(-1))
    assert readers() == [(GROUP, "Share", False)]


def test_a_group_without_members_does_not_grow_old(room: Room) -> None:
    room.tell(beat())
    set_up(room)
    room.tell(beat(-1))
    room.wait(1_000 * 24 * 3_600_000)
    for _ in room.groups.sweep(Aging, Pace()):
        pass
    assert room.shard().kept.get(GROUP) is not None


def test_a_group_is_there_again_after_a_restart(room: Room) -> None:
    room.tell(beat())
    set_up(room)
    room.tell(beat(1))
    again = room.restart()
    again.load()
    (group,) = again.tell(ShareGroupDescribeRequest([GROUP])).groups
    assert [part.partitions for part in group.members[0].assignment.topic_partitions] == [[0, 1]]
    assert again.tell(beat(2)).error_code == ErrorCode.NONE
