from __future__ import annotations

from typing import Any

import pytest
from tests.api.grouping import DELAY_MS, GROUP, Room, commit, join

from penstock.api.handlers import k47_offset_delete as handler
from penstock.coordination.group.classic import subscriptions
from penstock.coordination.pace import COST_A_SLICE
from penstock.errors import ErrorCode
from penstock.wire.messages.k11_join_group import JoinGroupRequestProtocol
from penstock.wire.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from penstock.wire.stored.consumer_protocol_subscription import ConsumerProtocolSubscription
from penstock.wire.stored_codec import encode_value


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
    group = room.shard().kept.get(GROUP)
    assert group is not None
    assert list(group.offsets["orders"]) == [1]
    delete(room, "orders", 1)
    assert room.shard().kept.get(GROUP) is None


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


def reads(*topics: str) -> list[JoinGroupRequestProtocol]:
    said = encode_value(ConsumerProtocolSubscription(list(topics)), 1)
    return [JoinGroupRequestProtocol("range", said)]


def test_what_members_say_is_read_once_however_many_topics_are_asked_for(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "topics_of", subscriptions.Remembered().topics)
    read, real = [], subscriptions.read_topics

    def counting(metadata: bytes) -> subscriptions.Topics:
        read.append(metadata)
        return real(metadata)

    monkeypatch.setattr(subscriptions, "read_topics", counting)
    for number in range(5):
        room.ask(join(protocols=reads("once", f"topic-{number}")), 3)
    room.wait(DELAY_MS)
    asked = [
        OffsetDeleteRequestTopic(f"topic-{number}", [OffsetDeleteRequestPartition(0)])
        for number in range(3_000)
    ]
    room.desk.create("topic-4")
    room.desk.create("topic-5")
    answer = room.tell(OffsetDeleteRequest(GROUP, asked))
    assert len(answer.topics) == 3_000
    assert [each.partitions[0].error_code for each in answer.topics[3:7]] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert len(read) == 5


def test_many_offsets_go_in_several_turns(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler, "OFFSETS_A_TURN", 10)
    room.desk.create("wide", partitions=95)
    room.tell(commit(topic="wide", partitions=tuple(range(95))))
    before = room.leader().log.end_offset
    assert set(codes(delete(room, "wide", *range(100))).values()) == {
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert room.leader().log.end_offset == before + 95
    assert room.shard().kept.get(GROUP) is None, "it went before the last turn"


def test_members_who_come_between_two_turns_keep_their_topics(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler, "OFFSETS_A_TURN", 1)
    monkeypatch.setattr(handler, "OFFSET_COST", COST_A_SLICE)
    room.desk.create("late")
    room.tell(commit())
    room.tell(commit(topic="late"))
    asked = [
        OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)])
        for topic in ("orders", "late")
    ]
    deletion = handler._Deletion(room.desk.broker, OffsetDeleteRequest(GROUP, asked))
    steps = deletion.carry_out(0)
    next(steps)
    room.ask(join(protocols=reads("late")), 3)
    room.wait(DELAY_MS)
    list(steps)
    assert deletion._codes == {
        "orders": {0: ErrorCode.NONE},
        "late": {0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC},
    }
