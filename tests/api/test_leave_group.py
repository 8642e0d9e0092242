from __future__ import annotations

import pytest
from tests.api.grouping import DELAY_MS, GROUP, Room, join

from penstock.api.handlers import k13_leave_group
from penstock.api.outcome import Resume
from penstock.errors import ErrorCode
from penstock.wire.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity


@pytest.mark.parametrize("version", range(3))
def test_one_member_leaves(room: Room, version: int) -> None:
    one, two = room.settle(2)
    request = LeaveGroupRequest(GROUP, one)
    assert room.tell(request, version).error_code == ErrorCode.NONE
    assert room.tell(request, version).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    group = room.shard().kept.get(GROUP)
    assert group is not None
    assert list(group.body.members) == [two]


@pytest.mark.parametrize("version", range(3, 6))
def test_several_leave_and_each_is_told_how_it_went(room: Room, version: int) -> None:
    one, two = room.settle(2)
    members = [MemberIdentity(each) for each in (one, "nobody", two)]
    answer = room.tell(LeaveGroupRequest(GROUP, members=members), version)
    told = [(each.member_id, each.error_code) for each in answer.members]
    assert told == [(one, 0), ("nobody", ErrorCode.UNKNOWN_MEMBER_ID), (two, 0)]


def test_the_end_of_a_group_is_told_when_it_is_on_the_disk(room: Room) -> None:
    (member,) = room.settle()
    asked = room.ask(LeaveGroupRequest(GROUP, member), 0)
    assert asked.is_waiting
    room.sync()
    assert asked.code == ErrorCode.NONE


def test_an_administrator_removes_instances_by_name(room: Room) -> None:
    joined = room.ask(join(group_instance_id="i"))
    room.wait(DELAY_MS)
    members = [
        MemberIdentity("", "i"),
        MemberIdentity("", "j"),
        MemberIdentity(joined.answer.member_id, "i"),
    ]
    answer = room.tell(LeaveGroupRequest(GROUP, members=members))
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert [each.error_code for each in answer.members] == [0, unknown, unknown]


def test_leaving_a_group_that_is_not_there_leaves_none_behind(room: Room) -> None:
    room.tell(LeaveGroupRequest(GROUP, members=[MemberIdentity("nobody")]))
    assert len(room.shard().kept) == 0


def test_many_leave_some_at_a_time(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(k13_leave_group, "MEMBERS_A_TURN", 2)
    ids = room.settle(5)
    group = room.shard().kept.get(GROUP)
    assert group is not None
    request = LeaveGroupRequest(GROUP, members=[MemberIdentity(each) for each in ids])
    call = room.desk.call(request)
    assert isinstance(call.api.handler(room.desk.broker, call.request, call), Resume)
    assert list(group.body.members) == ids[2:]
    answer = room.tell(request)
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert [each.error_code for each in answer.members] == [unknown, unknown, 0, 0, 0]
    assert not group.body.members
