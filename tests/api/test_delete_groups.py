from __future__ import annotations

from typing import Any

import pytest
from tests.api.grouping import GROUP, Room, commit

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
