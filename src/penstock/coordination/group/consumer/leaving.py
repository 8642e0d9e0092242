"""How members leave: for good, or, if they are static, for a while."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from penstock.coordination.group.consumer.downgrading import downgrade, has_many, is_to_be_classic
from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.member import LEFT_FOR_NOW, ConsumerMember
from penstock.coordination.group.consumer.phases import MemberState
from penstock.coordination.group.consumer.requests import LEAVE
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.consumer.targets import settle
from penstock.coordination.group.groups import Group
from penstock.coordination.group.members import check_instance, unknown_member
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def leave(
    turn: Turn, group: Group, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse:
    body = group.body
    if not isinstance(body, Consumer):
        raise no_such_group(group.name)
    member = body.members.get(request.member_id)
    check_instance(body.static, member, request.instance_id)
    if member is None:
        raise unknown_member(request.member_id)
    if request.member_epoch == LEAVE:
        depart(turn, group, body, [member.id])
    else:
        _leave_for_now(turn, group, body, member)
    return ConsumerGroupHeartbeatResponse(member_id=member.id, member_epoch=request.member_epoch)


def no_such_group(name: str) -> Refused:
    return Refused(
        ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {name[:300]!r} of the consumer protocol"
    )


def _leave_for_now(turn: Turn, group: Group, body: Consumer, member: ConsumerMember) -> None:
    """Its session goes on: if it is not back by the end of that, it is gone."""
    holding = replace(member.holding.at(LEFT_FOR_NOW), state=MemberState.STABLE, revoking={})
    draft = Draft(turn, group.name, body)
    draft.hold(member, holding)
    draft.write()
    body.rebalances.pop(member.id, None)


def depart(turn: Turn, group: Group, body: Consumer, member_ids: Iterable[str]) -> None:
    """Without them, the others share the work anew."""
    draft = Draft(turn, group.name, body)
    for member_id in member_ids:
        draft.remove(member_id)
    if is_to_be_classic(draft) and not has_many(draft):
        downgrade(draft, group)
        return
    if is_to_be_classic(draft):  # in turns of its own, and in the epoch that its members know
        turn.wake_at(turn.time_ms)
    else:
        draft.bump()
        settle(draft)
    draft.write()
    if not draft.size:
        group.emptied_ms = turn.now_ms
