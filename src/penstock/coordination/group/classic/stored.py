"""What is written of a group of the classic protocol: generations with their plans, and its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.coordination.group.classic.phases import Phase
from penstock.coordination.group.classic.state import ENDING, Classic, Member
from penstock.coordination.turn import Turn, ready_event
from penstock.wire.stored.group_metadata import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)

if TYPE_CHECKING:
    from penstock.coordination.group.groups import Groups

WRITTEN_VERSION = 3
PLAN_BYTES_MAX = 8 << 20
"""All of a plan is one event, with what the members say of themselves, which has a limit of its
own. So all of it is written anew when a static member has come back under another id."""
MEMBER_COST = 4
"""Of a member that is written, in the unit of `Pace`."""


def write_plan(
    turn: Turn, group: str, body: Classic, plan: Mapping[str, bytes], *, will_last: bool = True
) -> None:
    """The generation that begins, with what each member is to do in it.

    If it is not going to last, no leader is noted: whoever loads it lets everyone join again.
    """
    members = [
        member_value(body, member, plan.get(member.id, b"")) for member in body.members.values()
    ]
    turn.spend(MEMBER_COST * len(members))
    _write(turn, group, body, members, body.leader if will_last else None)


def write_parts(turn: Turn, group: str, body: Classic, parts: list[MemberMetadata]) -> None:
    """The same with what is written of each member made ready before."""
    turn.spend(len(parts))
    _write(turn, group, body, parts, body.leader)


def write_empty(turn: Turn, group: str, body: Classic) -> None:
    _write(turn, group, body, [], None)


def write_empty_of_new(turn: Turn, group: str, body: Classic) -> None:
    """The same of a group that is handed on: by the end of the turn it may be more than that."""
    key, value = GroupMetadataKey(group), _value(turn, body, [], None)
    turn.write_ready([ready_event(key, value, WRITTEN_VERSION)])
    body.is_saved, body.planned_ms = True, turn.now_ms


def _write(
    turn: Turn, group: str, body: Classic, members: list[MemberMetadata], leader: str | None
) -> None:
    value = _value(turn, body, members, leader)
    turn.write(GroupMetadataKey(group), value, WRITTEN_VERSION)


def _value(
    turn: Turn, body: Classic, members: list[MemberMetadata], leader: str | None
) -> GroupMetadataValue:
    return GroupMetadataValue(
        protocol_type=body.protocol_type,
        generation=body.generation,
        protocol=body.protocol if members else None,
        leader=leader,
        current_state_timestamp=turn.now_ms,
        members=members,
    )


def write_ending(turn: Turn, group: str) -> None:
    """It is decided that it goes, which may take a while."""
    body = Classic()
    body.generation = ENDING
    write_empty(turn, group, body)


def write_end(turn: Turn, group: str) -> None:
    turn.write(GroupMetadataKey(group), None)


def member_value(body: Classic, member: Member, assignment: bytes) -> MemberMetadata:
    return MemberMetadata(
        member_id=member.id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms,
        subscription=body.metadata(member),
        assignment=assignment,
    )


def apply_generation(
    groups: Groups, key: GroupMetadataKey, value: GroupMetadataValue | None
) -> None:
    group = groups.get(key.group)
    if value is None:
        if group is not None and isinstance(group.body, Classic):
            group.body.is_saved = False
        return
    group = group or groups.get_or_add(key.group)
    body = group.body
    if isinstance(body, Classic) and _is_of(body, value):
        if value.leader is not None:  # or it is not a plan that lasts
            for written in value.members:
                body.members[written.member_id].assignment = written.assignment
    else:
        body = group.body = restored(value)
    body.is_saved = True
    body.planned_ms = value.current_state_timestamp
    if not value.members:
        group.emptied_ms = value.current_state_timestamp


def _is_of(body: Classic, value: GroupMetadataValue) -> bool:
    """Whether it was decided here: then memory knows more than was written."""
    return body.generation == value.generation and body.members.keys() == {
        written.member_id for written in value.members
    }


def restored(value: GroupMetadataValue) -> Classic:
    """A group as a coordinator finds it in the log. Its members' sessions have yet to begin."""
    body = Classic()
    body.protocol_type = value.protocol_type
    body.generation = value.generation
    body.protocol = value.protocol
    for written in value.members:
        if written.member_id not in body.members:
            body.add(_member(value.protocol or "", written))
    body.leader = value.leader if value.leader in body.members else None
    body.phase = Phase.STABLE if value.members else Phase.EMPTY
    return body


def _member(protocol: str, written: MemberMetadata) -> Member:
    return Member(
        id=written.member_id,
        instance_id=written.group_instance_id,
        client_id=written.client_id,
        client_host=written.client_host,
        session_timeout_ms=written.session_timeout,
        rebalance_timeout_ms=written.rebalance_timeout or written.session_timeout,
        protocols={protocol: written.subscription},
        assignment=written.assignment,
        is_new=False,
    )


APPLY: dict[type[Any], Any] = {GroupMetadataKey: apply_generation}
