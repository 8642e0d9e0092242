"""How members leave: by saying so, by going silent, by not keeping up with a round."""

from __future__ import annotations

from penstock.coordination.group.classic.phases import Phase
from penstock.coordination.group.classic.rounds import (
    begin_round,
    end_round,
    end_round_if_complete,
    refuse_join,
    refuse_sync,
    touch,
)
from penstock.coordination.group.classic.state import Classic, Member
from penstock.coordination.group.classic.syncing import member_of_generation
from penstock.coordination.group.groups import Group
from penstock.coordination.group.members import check_instance, unknown_member
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused

SILENT_A_TURN = 2_000
"""Members that are put out at once: some milliseconds. Those who are late with a plan all go, as
nobody would know them in the next round."""
EMPTY_BYTES_MAX = 8 << 10
"""Of what is written when the last one has left."""
MEMBER_COST = 3
"""Of one of them, in the unit of `Pace`."""


def leave(turn: Turn, group: Group, body: Classic, member_id: str, instance_id: str | None) -> None:
    """Raises Refused if there is no such member. An administrator may give the instance alone."""
    turn.check_room(EMPTY_BYTES_MAX)
    if instance_id is None and member_id in body.pending:
        del body.pending[member_id]
        end_round_if_complete(turn, group, body)
        return
    if instance_id is not None and not member_id:
        member_id = body.static.get(instance_id, "")
    member = body.members.get(member_id)
    check_instance(body.static, member, instance_id)
    if member is None:
        raise unknown_member(member_id)
    remove(turn, group, body, [member])


def remove(turn: Turn, group: Group, body: Classic, members: list[Member]) -> None:
    """Without them the others have to share the work anew."""
    for member in members:
        refuse_join(turn, body, member, ErrorCode.UNKNOWN_MEMBER_ID)
        refuse_sync(turn, member, ErrorCode.UNKNOWN_MEMBER_ID)
        body.remove(member)
    if body.phase is Phase.JOINING:
        if not body.members:
            body.round_extends_to_ms = 0.0
        end_round_if_complete(turn, group, body)
    elif body.phase is not Phase.EMPTY:
        begin_round(turn, group, body)


def expire(turn: Turn, group: Group, body: Classic) -> None:
    """What is due by now: members who went silent, ids that nobody joined with, rounds."""
    now_ms = turn.time_ms
    turn.spend(len(body.members) + len(body.pending))
    for member_id in [each for each, due_ms in body.pending.items() if due_ms <= now_ms]:
        del body.pending[member_id]
    is_late = body.sync_ends_ms <= now_ms
    if body.unsynced and not is_late:
        turn.wake_at(body.sync_ends_ms)
    silent = [
        each
        for each in body.members.values()
        if (each.deadline_ms <= now_ms and _is_silent(body, each))
        or (is_late and each.id in body.unsynced)
    ]
    if len(silent) > SILENT_A_TURN and not is_late:
        silent = silent[:SILENT_A_TURN]
        turn.wake_at(now_ms)  # for the rest
    if silent:
        turn.spend(MEMBER_COST * len(silent))
        remove(turn, group, body, silent)
    if body.phase is Phase.JOINING and body.round_ends_ms <= now_ms:
        end_round(turn, group, body)
    end_round_if_complete(turn, group, body)
    _wake_for_the_next(turn, body)


def _is_silent(body: Classic, member: Member) -> bool:
    """Of one whose time is up."""
    return not member.is_waiting or (member.is_new and body.phase is Phase.JOINING)


def _wake_for_the_next(turn: Turn, body: Classic) -> None:
    if body.phase is Phase.JOINING:
        turn.wake_at(body.round_ends_ms)
    for due_ms in body.pending.values():
        turn.wake_at(due_ms)
    now_ms = turn.time_ms
    later_ms = (each.deadline_ms for each in body.members.values() if each.deadline_ms > now_ms)
    if (soonest_ms := min(later_ms, default=None)) is not None:
        turn.wake_at(soonest_ms)


def begin_sessions(turn: Turn, body: Classic) -> None:
    """A coordinator has been loaded: its members are given the time to find it."""
    for member in body.members.values():
        touch(turn, member)


def rebalance(turn: Turn, group: Group, body: Classic) -> None:
    """Something that the plan rests on has changed, such as a topic."""
    if body.phase in (Phase.STABLE, Phase.SYNCING):
        begin_round(turn, group, body)


def check_may_commit(
    turn: Turn, body: Classic, member_id: str, instance_id: str | None, generation: int
) -> None:
    """Refuse a commit of anyone but a member of this generation; an empty group takes any."""
    if generation < 0 and not body.members:
        return
    if generation < 0 and not member_id and instance_id is None:
        raise Refused(
            ErrorCode.UNKNOWN_MEMBER_ID,
            "the group has members, and only they may commit: stop them to set its offsets",
        )
    if body.is_blank:
        raise Refused(ErrorCode.ILLEGAL_GENERATION, "there is no such group, and no generation")
    touch(turn, member_of_generation(body, member_id, instance_id, generation))
    if body.phase is Phase.SYNCING:
        raise Refused(ErrorCode.REBALANCE_IN_PROGRESS, "the plan is being made")
