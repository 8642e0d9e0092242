from __future__ import annotations

from typing import Any

import pytest
from tests.api.desk import NOW_MS
from tests.api.grouping import GROUP, Room, commit

from penstock.api.handlers import k08_offset_commit
from penstock.api.outcome import Resume
from penstock.coordination.group.offsets import Committed
from penstock.errors import ErrorCode
from penstock.wire.messages.k08_offset_commit import OffsetCommitRequestPartition
from penstock.wire.messages.k13_leave_group import LeaveGroupRequest


def codes(answer: object) -> list[int]:
    return [
        part.error_code
        for topic in answer.topics  # type: ignore[attr-defined]
        for part in topic.partitions
    ]


def committed(room: Room, topic: str = "orders") -> dict[int, Committed]:
    group = room.shard().kept.get(GROUP)
    return group.offsets.get(topic, {}) if group else {}


def test_a_commit_is_answered_when_it_is_on_the_disk_and_not_before(room: Room) -> None:
    asked = room.ask(commit())
    assert asked.is_waiting
    assert committed(room)[0].offset == 5, "the next one who asks is to see it"
    room.sync()
    assert codes(asked.answer) == [0]


def test_a_commit_that_is_not_on_the_disk_in_time_is_to_be_tried_again(room: Room) -> None:
    asked = room.ask(commit())
    asked.time_is_up()
    assert codes(asked.answer) == [ErrorCode.REQUEST_TIMED_OUT], "of the same coordinator"


@pytest.mark.parametrize("version", range(2, 10))
def test_every_version_says_what_it_can(room: Room, version: int) -> None:
    part = {"committed_leader_epoch": 3, "committed_metadata": "note"}
    assert codes(room.tell(commit(part=part), version)) == [0]
    epoch = 3 if version >= 6 else -1
    now_ms = room.clock.now_ms()
    topic_id = room.desk.image.topics["orders"].id
    assert committed(room) == {0: Committed(5, epoch, "note", now_ms, topic_id=topic_id)}


def test_topics_are_named_by_id_since_version_10(room: Room) -> None:
    topic_id = room.desk.image.topics["orders"].id
    assert codes(room.tell(commit(topic="", topic_id=topic_id), 10)) == [0]
    assert 0 in committed(room)
    answer = room.tell(commit(topic="", topic_id=bytes(15) + b"?"), 10)
    assert codes(answer) == [ErrorCode.UNKNOWN_TOPIC_ID]


@pytest.mark.parametrize(("retention_ms", "expected"), [(-1, -1), (60_000, NOW_MS + 61_000)])
def test_clients_of_old_may_say_how_long_it_is_kept(
    room: Room, retention_ms: int, expected: int
) -> None:
    room.tell(commit(retention_time_ms=retention_ms), 4)
    assert committed(room)[0].expire_ms == expected


def test_what_is_kept_for_longer_than_can_be_written_is_kept_for_as_long_as_can(room: Room) -> None:
    room.tell(commit(retention_time_ms=(1 << 63) - 1), 4)
    assert committed(room)[0].expire_ms == (1 << 63) - 1


def test_a_partition_that_is_not_there_is_refused_by_itself(room: Room) -> None:
    answer = room.tell(commit(partitions=(0, 2, -1)), 8)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(answer) == [0, unknown, unknown]
    assert codes(room.tell(commit(topic="nothing"), 8)) == [unknown]
    assert committed(room).keys() == {0}


def test_metadata_that_is_too_large_is_refused_by_itself(room: Room) -> None:
    assert codes(room.tell(commit(part={"committed_metadata": "x" * 4096}), 8)) == [0]
    for text in ("x" * 4097, "\N{EURO SIGN}" * 1366):
        answer = room.tell(commit(part={"committed_metadata": text}), 8)
        assert codes(answer) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]


def test_of_a_partition_that_is_named_twice_the_last_mention_counts(room: Room) -> None:
    request = commit(partitions=(0, 1))
    request.topics[0].partitions.append(OffsetCommitRequestPartition(0, 9))
    answer = room.tell(request, 8)
    assert [part.partition_index for part in answer.topics[0].partitions] == [0, 1]
    assert committed(room)[0].offset == 9


def test_a_partition_that_is_named_in_many_entries_of_its_topic_is_written_once(
    room: Room,
) -> None:
    request = commit(1, partitions=(0, 1))
    for offset in range(2, 10):
        request.topics += commit(offset).topics
    written = room.leader().log.end_offset
    answer = room.tell(request, 8)
    assert [part.partition_index for part in answer.topics[0].partitions] == [0, 1]
    assert codes(answer) == [0, 0]
    assert {index: each.offset for index, each in committed(room).items()} == {0: 9, 1: 1}
    assert room.leader().log.end_offset == written + 2


def test_a_stranger_is_refused_while_there_are_members(room: Room) -> None:
    (member,) = room.settle()
    assert codes(room.tell(commit(), 8)) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert codes(room.tell(commit(member_id=member, generation=1), 8)) == [0]
    answer = room.tell(commit(member_id=member, generation=2), 8)
    assert codes(answer) == [ErrorCode.ILLEGAL_GENERATION]


@pytest.mark.parametrize(
    ("version", "code"),
    [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)],
)
def test_a_member_of_a_group_that_is_not_there_is_refused(
    room: Room, version: int, code: ErrorCode
) -> None:
    assert codes(room.tell(commit(member_id="m", generation=1), version)) == [code]
    assert room.shard().kept.get(GROUP) is None


def test_a_group_without_a_name_is_refused(room: Room) -> None:
    assert codes(room.tell(commit(group=""), 8)) == [ErrorCode.INVALID_GROUP_ID]
    assert codes(room.tell(commit(group="x" * 1000), 8)) == [ErrorCode.NONE]
    assert codes(room.tell(commit(group="x" * 1001), 8)) == [ErrorCode.INVALID_GROUP_ID]


def test_a_commit_on_a_full_disk_is_to_be_tried_again(room: Room) -> None:
    room.desk.broker.disk_is_full = True
    assert codes(room.tell(commit(), 8)) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


# -- many at once


@pytest.fixture
def in_turns(room: Room, monkeypatch: pytest.MonkeyPatch) -> Room:
    """Two offsets in each turn, in a topic of nine partitions."""
    monkeypatch.setattr(k08_offset_commit, "OFFSETS_A_TURN", 2)
    room.desk.create("wide", partitions=9)
    return room


def begun(room: Room, request: Any) -> Resume[Any]:
    call = room.desk.call(request, 9)
    outcome = call.api.handler(room.desk.broker, call.request, call)
    assert isinstance(outcome, Resume), "it is not done in one go"
    return outcome


def test_many_offsets_are_committed_in_several_turns(in_turns: Room) -> None:
    request = commit(topic="wide", partitions=(*range(9), 17, 0))
    begun(in_turns, request)
    assert committed(in_turns, "wide").keys() == {0, 1}
    (told,) = in_turns.tell(request).topics
    assert committed(in_turns, "wide").keys() == set(range(9))
    assert [part.partition_index for part in told.partitions] == [*range(9), 17]
    assert codes(in_turns.tell(request)) == [0] * 9 + [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_many_offsets_are_answered_when_the_last_is_on_the_disk(in_turns: Room) -> None:
    asked = in_turns.ask(commit(topic="wide", partitions=tuple(range(5))))
    assert asked.is_waiting
    in_turns.sync()
    assert codes(asked.answer) == [0] * 5


def test_many_offsets_of_someone_who_may_not_commit_are_refused_together(in_turns: Room) -> None:
    in_turns.settle()
    told = in_turns.tell(commit(topic="wide", partitions=tuple(range(5))))
    assert codes(told) == [ErrorCode.UNKNOWN_MEMBER_ID] * 5
    assert not committed(in_turns, "wide")


def test_who_loses_its_place_between_two_turns_is_told_so_of_the_rest(
    in_turns: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    (member,) = in_turns.settle()
    carry_out = in_turns.desk.broker.in_steps

    def interrupted(steps: Any) -> Any:
        in_turns.ask(LeaveGroupRequest(GROUP, member), 0)
        return carry_out(steps)

    monkeypatch.setattr(in_turns.desk.broker, "in_steps", interrupted)
    request = commit(topic="wide", partitions=tuple(range(5)), member_id=member, generation=1)
    told = in_turns.tell(request)
    assert codes(told)[:2] == [0, 0]
    assert ErrorCode.NONE not in codes(told)[2:]
    assert committed(in_turns, "wide").keys() == {0, 1}
