"""Members of the classic protocol in a group of KIP-848.

To them it looks like rounds: a heartbeat tells them to join again, JoinGroup takes down what they
want and have, and SyncGroup gives them what is theirs. Nobody leads, as the plan is made here, and
the generation of each is its own epoch.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.coordination.group.classic.subscriptions import CONSUMER
from penstock.coordination.group.consumer.classic_joining import join
from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.embedded import plan_bytes
from penstock.coordination.group.consumer.leaving import depart
from penstock.coordination.group.consumer.member import ClassicPart, ConsumerMember
from penstock.coordination.group.consumer.phases import MemberState
from penstock.coordination.group.consumer.reconciling import without
from penstock.coordination.group.consumer.sessions import give_time, touch
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.consumer.subscriptions import wanted
from penstock.coordination.group.groups import Group
from penstock.coordination.group.members import check_instance, unknown_member
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k14_sync_group import SyncGroupRequest, SyncGroupResponse

__all__ = ["heartbeat", "join", "leave", "leave_each", "sync"]


def sync(turn: Turn, group: Group, body: Consumer, request: SyncGroupRequest) -> SyncGroupResponse:
    member, classic = _classic_member(
        body, request.member_id, request.group_instance_id, request.generation_id
    )
    name = classic.protocols[0][0]
    if request.protocol_type not in (None, CONSUMER) or request.protocol_name not in (None, name):
        raise Refused(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"the member has joined with {CONSUMER}, {name}"
        )
    touch(turn, group.name, body, member)
    if body.target_epoch > member.epoch and member.holding.state is not MemberState.REVOKING:
        _call_back(turn, body, member)
    body.rebalances.pop(member.id, None)
    if member.holding.state is MemberState.REVOKING:
        give_time(turn, body, member)
    return SyncGroupResponse(
        protocol_type=CONSUMER,
        protocol_name=name,
        assignment=plan_bytes(turn.image, member.holding.assigned, classic.protocols),
    )


def heartbeat(
    turn: Turn,
    group: Group,
    body: Consumer,
    member_id: str,
    instance_id: str | None,
    generation: int,
) -> None:
    """Raises Refused when the member has to join again."""
    member, _ = _classic_member(body, member_id, instance_id, generation)
    touch(turn, group.name, body, member)
    state = member.holding.state
    if body.target_epoch > member.epoch or state is MemberState.REVOKING:
        _call_back(turn, body, member)
    if state is MemberState.WAITING and _can_have_more(Draft(turn, group.name, body), member):
        _call_back(turn, body, member)


def _can_have_more(draft: Draft, member: ConsumerMember) -> bool:
    missing = without(wanted(draft, member), member.holding.assigned)
    return any(
        draft.is_free_for(member.id, (topic, partition))
        for topic, partitions in missing.items()
        for partition in partitions
    )


def _call_back(turn: Turn, body: Consumer, member: ConsumerMember) -> None:
    give_time(turn, body, member)
    raise Refused(ErrorCode.REBALANCE_IN_PROGRESS, "the work is shared anew: join again")


def _classic_member(
    body: Consumer, member_id: str, instance_id: str | None, generation: int
) -> tuple[ConsumerMember, ClassicPart]:
    member = body.members.get(member_id)
    check_instance(body.static, member, instance_id)
    if member is None or member.profile.classic is None:
        raise unknown_member(member_id)
    if generation != member.epoch:
        raise Refused(
            ErrorCode.ILLEGAL_GENERATION,
            f"the member is at generation {member.epoch}, not {generation}",
        )
    return member, member.profile.classic


def leave(
    turn: Turn, group: Group, body: Consumer, member_id: str, instance_id: str | None
) -> None:
    """Raises Refused if there is no such member. An administrator may give the instance alone."""
    depart(turn, group, body, [_leaving(body, member_id, instance_id)])


def leave_each(
    turn: Turn, group: Group, body: Consumer, who: Sequence[tuple[str, str | None]]
) -> list[ErrorCode]:
    """Several at once, by member and instance ids: what each is told."""
    codes = []
    leaving: dict[str, None] = {}
    for member_id, instance_id in who:
        try:
            leaving[_leaving(body, member_id, instance_id)] = None
            codes.append(ErrorCode.NONE)
        except Refused as refused:
            codes.append(refused.code)
    if leaving:
        depart(turn, group, body, leaving)
    return codes


def _leaving(body: Consumer, member_id: str, instance_id: str | None) -> str:
    is_admin = instance_id is not None and not member_id
    if instance_id is not None and not member_id:
        member_id = body.static.get(instance_id, "")
    member = body.members.get(member_id)
    check_instance(body.static, member, instance_id)
    if member is None or (member.profile.classic is None and not is_admin):
        raise unknown_member(member_id)
    return member.id
