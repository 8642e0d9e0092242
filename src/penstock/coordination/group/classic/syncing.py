"""SyncGroup and Heartbeat: the leader's plan comes in and goes out, and members stay alive."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from penstock.coordination.group.classic.phases import Phase
from penstock.coordination.group.classic.preparing import Ready, plan_in
from penstock.coordination.group.classic.rounds import refuse_sync, touch, touch_all
from penstock.coordination.group.classic.state import Classic, Member
from penstock.coordination.group.classic.stored import PLAN_BYTES_MAX, write_parts, write_plan
from penstock.coordination.group.groups import Group
from penstock.coordination.group.members import check_instance, unknown_member
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k14_sync_group import SyncGroupRequest, SyncGroupResponse


def sync(
    turn: Turn,
    group: Group,
    body: Classic,
    request: SyncGroupRequest,
    ready: Ready | None = None,
) -> SyncGroupResponse | None:
    """The answer, or None: it comes with the leader's plan. `ready`: what was made of that."""
    member = member_of_generation(
        body, request.member_id, request.group_instance_id, request.generation_id
    )
    _check_protocol(body, request)
    touch(turn, member)
    match body.phase:
        case Phase.JOINING:
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS, "the members are joining again")
        case Phase.STABLE:
            body.unsynced.discard(member.id)
            return _answer(body, member.assignment)
        case _:
            if member.id == body.leader:
                return _take_plan(turn, group, body, member, request, ready)
            body.unsynced.discard(member.id)
            refuse_sync(turn, member, ErrorCode.REBALANCE_IN_PROGRESS)  # an earlier try
            member.sync = turn.reply
            return None


def _take_plan(
    turn: Turn,
    group: Group,
    body: Classic,
    leader: Member,
    request: SyncGroupRequest,
    ready: Ready | None,
) -> SyncGroupResponse:
    if ready is not None and not ready.is_for(body):
        ready = None
    plan = plan_in(request) if ready is None else ready.plan
    _check_plan(turn, body, plan)
    body.unsynced.discard(leader.id)
    if ready is None:
        write_plan(turn, group.name, body, plan)
    else:
        write_parts(turn, group.name, body, ready.parts)
    body.move(Phase.STABLE)
    _tell_plan(turn, body, plan)
    return _answer(body, plan.get(leader.id, b""))


def _tell_plan(turn: Turn, body: Classic, plan: Mapping[str, bytes]) -> None:
    answer = partial(SyncGroupResponse, 0, 0, body.protocol_type, body.protocol)
    told = [member for member in body.members.values() if member.sync is not None]
    turn.answer_alike([(each.sync, plan.get(each.id, b"")) for each in told], answer)
    for member in told:
        member.sync = None
    touch_all(turn, told)


def _check_plan(turn: Turn, body: Classic, plan: Mapping[str, bytes]) -> None:
    """A leader whose plan is refused is put out when its time is up."""
    size = sum(map(len, plan.values()))
    if size > PLAN_BYTES_MAX:
        raise Refused(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            f"the plan has {size} bytes, which is more than the {PLAN_BYTES_MAX} that are stored",
        )
    turn.check_room(size + body.metadata_bytes)


def heartbeat(
    turn: Turn, body: Classic, member_id: str, instance_id: str | None, generation: int
) -> None:
    """Raises Refused when the member has to join again."""
    member = member_of_generation(body, member_id, instance_id, generation)
    touch(turn, member)
    if body.phase is Phase.JOINING:
        raise Refused(ErrorCode.REBALANCE_IN_PROGRESS, "the members are joining again")


def member_of_generation(
    body: Classic, member_id: str, instance_id: str | None, generation: int
) -> Member:
    member = body.members.get(member_id)
    check_instance(body.static, member, instance_id)
    if member is None:
        raise unknown_member(member_id)
    if generation != body.generation:
        raise Refused(
            ErrorCode.ILLEGAL_GENERATION,
            f"the group is at generation {body.generation}, not {generation}",
        )
    return member


def _check_protocol(body: Classic, request: SyncGroupRequest) -> None:
    """Versions that do not say it leave it null."""
    if request.protocol_type is not None and request.protocol_type != body.protocol_type:
        raise Refused(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"the group's protocol type is {body.protocol_type!r}",
        )
    if request.protocol_name is not None and request.protocol_name != body.protocol:
        raise Refused(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"the group has chosen {body.protocol!r}"
        )


def _answer(body: Classic, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=body.protocol_type, protocol_name=body.protocol, assignment=assignment
    )
