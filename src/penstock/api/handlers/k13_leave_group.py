"""LeaveGroup: members go, and the others share their work at once.

Up to version 2 one member leaves; from 3 on an administrator can remove several, also by their
instance ids.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.member_ids import check_ids
from penstock.api.outcome import Outcome
from penstock.coordination.group.classic.leaving import leave
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.consumer import classic_members
from penstock.coordination.group.groups import Group
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k13_leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

MANY_SINCE = 3


def leave_group(
    broker: Broker, request: LeaveGroupRequest, call: Call
) -> Outcome[LeaveGroupResponse]:
    for each in request.members or [MemberIdentity(request.member_id)]:
        check_ids(each.member_id, each.group_instance_id)

    def decide(turn: Turn, group: Group) -> LeaveGroupResponse:
        if call.version < MANY_SINCE:
            _leave(turn, group, MemberIdentity(request.member_id))
            return LeaveGroupResponse()
        codes = _leave_each(turn, group, request.members)
        return LeaveGroupResponse(
            members=[
                MemberResponse(each.member_id, each.group_instance_id, code)
                for each, code in zip(request.members, codes, strict=True)
            ]
        )

    return broker.groups.shard(request.group_id).decide(request.group_id, decide)


def _leave_each(turn: Turn, group: Group, members: list[MemberIdentity]) -> list[ErrorCode]:
    """In a group of KIP-848 all at once: its events are applied when the turn is over."""
    if isinstance(group.body, Classic):
        return [_code(turn, group, each) for each in members]
    who = [(each.member_id, each.group_instance_id) for each in members]
    return classic_members.leave_each(turn, group, group.body, who)


def _code(turn: Turn, group: Group, who: MemberIdentity) -> ErrorCode:
    try:
        _leave(turn, group, who)
    except Refused as refused:
        return refused.code
    return ErrorCode.NONE


def _leave(turn: Turn, group: Group, who: MemberIdentity) -> None:
    if isinstance(group.body, Classic):
        leave(turn, group, group.body, who.member_id, who.group_instance_id)
    else:
        classic_members.leave(turn, group, group.body, who.member_id, who.group_instance_id)
