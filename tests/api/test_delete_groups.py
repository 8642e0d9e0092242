from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.api.grouping import GROUP, Asked, Room, commit, join

from penstock.api.outcome import Resume
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from penstock.wire.messages.k13_leave_group import LeaveGroupRequest
from penstock.wire.messages.k15_describe_groups import DescribeGroupsRequest
from penstock.wire.messages.k42_delete_groups import DeleteGroupsRequest
from penstock.wire.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


def delete(room: Room, *names: str, version: int | None = None) -> dict[str, int]:
    answer: Any = room.tell(DeleteGroupsRequest(list(names)), version)
    return {each.group_id: each.error_code for each in answer.results}


@pytest.mark.parametrize("version", range(3))
def test_a_group_without_members_goes_with_its_offsets(room: Room, version: int) -> None:
    (member,) = room.settle()
    room.tell(commit(member_id=member, generation=1))
    assert delete(room, GROUP, version=version) == {GROUP: ErrorCode.NON_EMPTY_GROUP}
    room.tell(LeaveGroupRequest(GROUP, member), 0)
    assert delete(room, GROUP, version=version) == {GROUP: 0}
    assert room.shard().kept.get(GROUP) is None
    room = room.restart()
    room.load()
    assert room.shard().kept.get(GROUP) is None


def test_each_group_is_answered_for_itself(room: Room) -> None:
    room.tell(commit())
    assert delete(room, "nothing", GROUP, "", GROUP) == {
        "nothing": ErrorCode.GROUP_ID_NOT_FOUND,
        GROUP: 0,
        "": ErrorCode.INVALID_GROUP_ID,
    }


def test_an_end_is_told_when_it_is_on_the_disk(room: Room) -> None:
    room.tell(commit())
    asked = [room.ask(DeleteGroupsRequest([GROUP])) for _ in range(2)]
    asked.append(room.ask(DescribeGroupsRequest([GROUP])))
    assert all(each.is_waiting for each in asked), "those who do not find it as well"
    room.sync()
    assert not any(each.is_waiting for each in asked)


class Deleting:
    """A deletion that goes on when it is told to, so that others can come in between."""

    def __init__(self, room: Room, *names: str) -> None:
        self.room = room
        self.steps: Any = None
        room.desk.broker.in_steps = self.hold
        self.call = room.desk.call(DeleteGroupsRequest(list(names)))
        self.resume = self.call.run(room.desk.broker)
        assert isinstance(self.resume, Resume)
        self.resume.work()

    def hold(self, steps: Any) -> Any:
        self.steps = steps

    def go_on(self) -> bool:
        """Up to the next pause; False if it was the last one."""
        return next(self.steps, self) is not self

    def finish(self) -> dict[str, int]:
        results: Any = None
        while True:
            try:
                next(self.steps)
            except StopIteration as end:
                results = end.value
                break
        asked = Asked(self.room.desk, self.call, self.resume.then(results))
        self.room.sync()
        return {each.group_id: each.error_code for each in asked.answer.results}


def refusal(action: Callable[[], object]) -> ErrorCode:
    with pytest.raises(Refused) as caught:
        action()
    return caught.value.code


def offsets_count(room: Room) -> int:
    group = room.groups.shards[room.leader().index].kept.get(GROUP)
    return sum(map(len, group.offsets.values())) if group else 0


@pytest.fixture
def wide(room: Room) -> Room:
    """A group with an offset in each of 2,500 partitions."""
    room.desk.create("wide", partitions=2_500)
    room.tell(commit(topic="wide", partitions=tuple(range(2_500))))
    return room


def test_many_offsets_go_in_several_turns_and_the_group_with_the_last(wide: Room) -> None:
    deleting = Deleting(wide, GROUP)
    left = [offsets_count(wide)]
    while deleting.go_on():
        left.append(offsets_count(wide))
    assert left == [1_500, 1_500, 500], "the first pause comes before the steps are handed over"
    assert wide.groups.shards[wide.leader().index].kept.get(GROUP) is None


def test_a_group_that_is_being_deleted_takes_nobody_in_and_shows_nothing(wide: Room) -> None:
    deleting = Deleting(wide, GROUP, "nothing")
    in_progress = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    joining = wide.ask(join(), 3)
    assert joining.code == in_progress
    committed = wide.tell(commit(topic="wide"))
    assert committed.topics[0].partitions[0].error_code == in_progress
    fetched = wide.tell(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP)]), 8)
    assert fetched.groups[0].error_code == in_progress
    assert delete(wide, GROUP) == {GROUP: in_progress}
    assert deleting.finish() == {GROUP: 0, "nothing": ErrorCode.GROUP_ID_NOT_FOUND}
    wide.settle()
    assert offsets_count(wide) == 0


def test_a_group_with_members_keeps_all_of_its_offsets(wide: Room) -> None:
    wide.settle()
    assert delete(wide, GROUP) == {GROUP: ErrorCode.NON_EMPTY_GROUP}
    assert offsets_count(wide) == 2_500


def test_a_deletion_goes_on_without_its_client(wide: Room) -> None:
    Deleting(wide, GROUP)
    wide.wait(0)
    assert wide.shard().kept.get(GROUP) is None


@pytest.mark.parametrize("pauses", [0, 1])
def test_a_deletion_goes_on_after_a_crash(wide: Room, pauses: int) -> None:
    deleting = Deleting(wide, GROUP)
    for _ in range(pauses):
        deleting.go_on()
    wide.sync()
    wide = wide.restart()
    wide.load()
    assert refusal(wide.shard) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    wide.wait(0)
    assert wide.shard().kept.get(GROUP) is None
    wide = wide.restart()
    wide.load()
    assert wide.shard().kept.get(GROUP) is None


def test_a_group_of_the_new_protocol_with_many_offsets_goes_as_a_whole(wide: Room) -> None:
    beat = ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id="m",
        rebalance_timeout_ms=1_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    assert wide.tell(beat).error_code == ErrorCode.NONE
    beat.member_epoch = -1
    assert wide.tell(beat).error_code == ErrorCode.NONE
    assert Deleting(wide, GROUP).finish() == {GROUP: 0}
    wide = wide.restart()
    wide.load()
    assert wide.shard().kept.get(GROUP) is None


def test_a_deletion_goes_on_when_groups_are_loaded_anew_and_its_client_has_to_ask_again(
    wide: Room,
) -> None:
    deleting = Deleting(wide, GROUP)
    wide.groups.load_again(wide.groups.shards[wide.leader().index])
    assert deleting.finish() == {GROUP: ErrorCode.NOT_COORDINATOR}
    wide.load()
    wide.wait(0)
    assert delete(wide, GROUP) == {GROUP: ErrorCode.GROUP_ID_NOT_FOUND}


def test_many_groups_take_several_slices(room: Room) -> None:
    names = [f"group-{number}" for number in range(60)]
    for name in names:
        room.tell(commit(group=name))
    deleting = Deleting(room, *names, *names)
    assert deleting.finish() == dict.fromkeys(names, 0)
    assert not any(len(shard.kept) for shard in room.groups.shards.values())


def test_many_names_take_several_slices(room: Room) -> None:
    names = [f"group-{number}" for number in range(2_000)]
    found = Deleting(room, *names, *names).finish()
    assert found == dict.fromkeys(names, ErrorCode.GROUP_ID_NOT_FOUND)
