from __future__ import annotations

from typing import Any

from tests.api.grouping import DELAY_MS, GROUP, Room, commit, join

from penstock.errors import ErrorCode
from penstock.wire.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)


def delete(room: Room, topic: str, *partitions: int, group: str = GROUP) -> Any:
    parts = [OffsetDeleteRequestPartition(each) for each in partitions]
    return room.tell(OffsetDeleteRequest(group, [OffsetDeleteRequestTopic(topic, parts)]))


def codes(answer: Any) -> dict[int, int]:
    return {
        part.partition_index: part.error_code
        for topic in answer.topics
        for part in topic.partitions
    }


def test_offsets_are_forgotten_partition_by_partition(room: Room) -> None:
    room.tell(commit(partitions=(0, 1)))
    assert codes(delete(room, "orders", 0, 0)) == {0: 0}
    group = room.shard().groups.get(GROUP)
    assert group is not None
    assert list(group.offsets["orders"]) == [1]
    delete(room, "orders", 1)
    assert room.shard().groups.get(GROUP) is None


def test_a_group_that_is_not_there_has_no_offsets(room: Room) -> None:
    assert delete(room, "orders", 0).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_offsets_that_members_rely_on_stay(room: Room) -> None:
    room.desk.create("other")
    room.tell(commit())
    room.tell(commit(topic="other"), 8)
    room.settle()
    assert codes(delete(room, "orders", 0)) == {0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}
    assert codes(delete(room, "other", 0)) == {0: 0}


def test_offsets_under_members_that_are_no_consumers_stay(room: Room) -> None:
    room.tell(commit())
    room.ask(join(protocol_type="connect"), 3)
    room.wait(DELAY_MS)
    assert delete(room, "orders", 0).error_code == ErrorCode.NON_EMPTY_GROUP


def test_what_is_not_in_the_cluster_is_told_apart_from_what_was_never_committed(room: Room) -> None:
    room.tell(commit(partitions=(0,)))
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(delete(room, "orders", 0, 1, 2, -1)) == {0: 0, 1: 0, 2: unknown, -1: unknown}
    room.tell(commit(partitions=(0,)))
    assert codes(delete(room, "nothing", 0)) == {0: unknown}


def test_a_partition_that_is_not_there_is_told_so_under_members_as_well(room: Room) -> None:
    room.settle()
    assert codes(delete(room, "orders", 0, 9)) == {
        0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
