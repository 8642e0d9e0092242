from __future__ import annotations

from typing import Any

import pytest
from tests.api.grouping import GROUP, Asked, Room, commit

from penstock.api.outcome import Resume
from penstock.coordination.group import protocols
from penstock.errors import ErrorCode
from penstock.wire.messages.k13_leave_group import LeaveGroupRequest
from penstock.wire.messages.k15_describe_groups import DescribeGroupsRequest
from penstock.wire.messages.k42_delete_groups import DeleteGroupsRequest


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
    assert room.shard().groups.get(GROUP) is None
    room = room.restart()
    room.load()
    assert room.shard().groups.get(GROUP) is None


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


def offsets_count(room: Room) -> int:
    group = room.shard().groups.get(GROUP)
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
    assert left[0] == left[1] == 1_500, "the first pause comes before the steps are handed over"
    assert left[-1] == 500
    assert wide.shard().groups.get(GROUP) is None


def test_a_member_that_joins_meanwhile_keeps_what_is_left(wide: Room) -> None:
    deleting = Deleting(wide, GROUP, "nothing")
    wide.settle()
    assert deleting.finish() == {
        GROUP: ErrorCode.NON_EMPTY_GROUP,
        "nothing": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert offsets_count(wide) == 1_500


def test_a_group_that_ends_meanwhile_was_deleted_all_the_same(wide: Room) -> None:
    deleting = Deleting(wide, GROUP)
    shard, group = wide.shard(), wide.shard().groups.get(GROUP)
    assert group is not None
    shard.look_after(group, protocols.delete)
    assert deleting.finish() == {GROUP: 0}


def test_groups_that_are_loaded_anew_meanwhile_are_to_be_deleted_again(wide: Room) -> None:
    deleting = Deleting(wide, GROUP)
    wide.groups.load_again(wide.shard())
    assert deleting.finish() == {GROUP: ErrorCode.NOT_COORDINATOR}


def test_many_groups_take_several_slices(room: Room) -> None:
    names = [f"group-{number}" for number in range(60)]
    for name in names:
        room.tell(commit(group=name))
    deleting = Deleting(room, *names, *names)
    assert deleting.finish() == dict.fromkeys(names, 0)
    assert not any(len(shard.groups) for shard in room.groups.shards.values())


def test_many_names_take_several_slices(room: Room) -> None:
    names = [f"group-{number}" for number in range(2_000)]
    found = Deleting(room, *names, *names).finish()
    assert found == dict.fromkeys(names, ErrorCode.GROUP_ID_NOT_FOUND)
