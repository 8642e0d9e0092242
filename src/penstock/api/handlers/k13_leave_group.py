"""LeaveGroup: members go, and the others share their work at once.

Up to version 2 one member leaves; from 3 on an administrator can remove several, also by their
instance ids.
"""

from __future__ import annotations

from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.member_ids import check_ids
from penstock.api.outcome import Outcome
from penstock.api.replies import once_committed
from penstock.api.slices import Writing, in_slices
from penstock.coordination.group.classic.leaving import leave
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.consumer import classic_members
from penstock.coordination.group.groups import Group
from penstock.coordination.group.members import unknown_member
from penstock.coordination.group.share.state import ShareGroup
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.wire.messages.k13_leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

MANY_SINCE = 3
MEMBERS_A_TURN = 1_000
"""Some milliseconds."""


def leave_group(
    broker: Broker, request: LeaveGroupRequest, call: Call
) -> Outcome[LeaveGroupResponse]:
    shard = broker.groups.shard(request.group_id)
    shard.check_can_commit()  # classic members are gone from memory before that is written
    if call.version < MANY_SINCE:
        who = MemberIdentity(request.member_id)
        check_ids(who.member_id, None)

        def leave_alone(turn: Turn, group: Group) -> LeaveGroupResponse:
            _leave(turn, group, who)
            return LeaveGroupResponse()

        return shard.decide(request.group_id, leave_alone)
    return in_slices(
        broker,
        _in_turns(broker, request, call.version),
        lambda members: _once_committed(broker, request, members),
    )


def _in_turns(broker: Broker, request: LeaveGroupRequest, version: int) -> Steps[Any]:
    """Some members in each, which mostly are all."""
    for each in request.members:
        check_ids(each.member_id, each.group_instance_id)
    told = Writing(version)
    for start in range(0, max(len(request.members), 1), MEMBERS_A_TURN):
        if start:
            yield None
        some = request.members[start : start + MEMBERS_A_TURN]
        yield from told.add_all(_take_turn(broker, request, some))
    return told


def _take_turn(
    broker: Broker, request: LeaveGroupRequest, members: list[MemberIdentity]
) -> list[MemberResponse]:
    codes: list[ErrorCode] = []

    def decide(turn: Turn, group: Group) -> bool:
        codes.extend(_leave_each(turn, group, members))
        return True

    shard = broker.groups.shard(request.group_id)
    shard.check_can_commit()
    shard.decide(request.group_id, decide)
    return [
        MemberResponse(each.member_id, each.group_instance_id, code)
        for each, code in zip(members, codes, strict=True)
    ]


def _once_committed(
    broker: Broker, request: LeaveGroupRequest, members: Any
) -> Outcome[LeaveGroupResponse]:
    shard = broker.groups.shard(request.group_id)
    rest = shard.rest(shard.kept.get(request.group_id))
    return once_committed([rest], LeaveGroupResponse(members=members))


def _leave_each(turn: Turn, group: Group, members: list[MemberIdentity]) -> list[ErrorCode]:
    """In a group of KIP-848 all at once: its events are applied when the turn is over."""
    if isinstance(group.body, Classic):
        return [_code(turn, group, each) for each in members]
    if isinstance(group.body, ShareGroup):
        return [ErrorCode.UNKNOWN_MEMBER_ID for _ in members]
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
    elif isinstance(group.body, ShareGroup):
        raise unknown_member(who.member_id)
    else:
        classic_members.leave(turn, group, group.body, who.member_id, who.group_instance_id)
