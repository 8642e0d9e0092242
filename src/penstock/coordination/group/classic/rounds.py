"""Rounds of the classic protocol: how one begins, who it waits for, and how it ends.

    empty --join--> joining --everyone is here, or time is up--> syncing --plan--> stable
                       ^                                            |                |
                       +----- someone joins, leaves, dies, or brings something new --+

The first round of an empty group waits a moment for more members to come, and longer as long as
they do, so that consumers that are started together make one generation and not several.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from typing import Any

from penstock.coordination.group.classic.phases import Phase
from penstock.coordination.group.classic.state import Classic, Member
from penstock.coordination.group.classic.stored import write_empty
from penstock.coordination.group.groups import Group
from penstock.coordination.turn import Reply, Turn
from penstock.errors import ErrorCode
from penstock.wire.messages.k11_join_group import JoinGroupResponse, JoinGroupResponseMember
from penstock.wire.messages.k14_sync_group import SyncGroupResponse

NEW_MEMBER_TIMEOUT_MS = 300_000
"""How long a new member is kept that waits in a round and may have gone without a word."""
LISTED_AT_ONCE_MAX = 500
"""Members that a leader is told of, in the turn that it is told in."""
ROUND_MS_MIN = 1_000
"""Given to who has to join again or bring a plan, however little time members allow."""


def begin_round(turn: Turn, group: Group, body: Classic) -> None:
    """Everyone is to join again. Who waits for the plan of this generation does so in vain."""
    was_empty = body.phase is Phase.EMPTY
    body.move(Phase.JOINING)
    for member in body.members.values():
        refuse_sync(turn, member, ErrorCode.REBALANCE_IN_PROGRESS)
    body.unsynced.clear()
    timeout_ms = body.rebalance_timeout_ms
    delay_ms = min(turn.config.group_initial_rebalance_delay_ms, timeout_ms)
    body.round_extends_to_ms = 0.0
    if was_empty and delay_ms:
        body.round_extends_to_ms = turn.time_ms + timeout_ms
        body.round_ends_ms = turn.time_ms + delay_ms
    else:
        body.round_ends_ms = turn.time_ms + max(timeout_ms, ROUND_MS_MIN)
    turn.wake_at(body.round_ends_ms)
    end_round_if_complete(turn, group, body)


def extend_round(turn: Turn, body: Classic) -> None:
    """Someone has come to the first round: perhaps there are more."""
    if body.round_extends_to_ms:
        later = turn.time_ms + turn.config.group_initial_rebalance_delay_ms
        body.round_ends_ms = min(later, body.round_extends_to_ms)


def end_round_if_complete(turn: Turn, group: Group, body: Classic) -> None:
    if body.phase is Phase.JOINING and body.has_everyone and not body.round_extends_to_ms:
        end_round(turn, group, body)


def end_round(turn: Turn, group: Group, body: Classic) -> None:
    """Without those who did not come; static members are given until their session ends."""
    for member in [each for each in body.members.values() if each.join is None]:
        if member.instance_id is None:
            body.remove(member)
    body.round_extends_to_ms = 0.0
    if not body.members:
        become_empty(turn, group, body)
    elif not body.joined:  # nobody but static members who may come back
        body.round_ends_ms = turn.time_ms + max(body.rebalance_timeout_ms, ROUND_MS_MIN)
        turn.wake_at(body.round_ends_ms)
    else:
        _begin_generation(turn, body)


def become_empty(turn: Turn, group: Group, body: Classic) -> None:
    body.move(Phase.EMPTY)
    body.generation += 1
    body.protocol = body.leader = None
    group.emptied_ms = turn.now_ms
    write_empty(turn, group.name, body)


def _begin_generation(turn: Turn, body: Classic) -> None:
    body.generation += 1
    body.protocol = body.choose_protocol()
    leader = body.members.get(body.leader or "")
    if leader is None or leader.join is None:
        body.leader = next(each.id for each in body.members.values() if each.join is not None)
    body.move(Phase.SYNCING)
    body.unsynced = set(body.members)
    body.sync_ends_ms = turn.time_ms + max(body.rebalance_timeout_ms, ROUND_MS_MIN)
    turn.wake_at(body.sync_ends_ms)
    _tell_generation(turn, body)


def _tell_generation(turn: Turn, body: Classic) -> None:
    """As `joined`, for all followers together: there may be ten thousand of them."""
    leader = body.members[body.leader or ""]
    turn.answer(body.take_join(leader), joined(body, leader))
    leader.is_new = False
    followers: list[tuple[Reply, str]] = []
    for member in body.members.values():
        if member.join is not None:
            followers.append((member.join, member.id))
            member.is_new = False
            member.join = None
        elif member is not leader:  # a static one that may come back
            member.before = member.before or member.assignment
        member.assignment = b""
    body.joined = 0
    told = (0, 0, body.generation, body.protocol_type, body.protocol, leader.id, False)
    turn.answer_alike(followers, partial(JoinGroupResponse, *told))
    touch_all(turn, body.members.values())


def joined(body: Classic, member: Member, *, skip_assignment: bool = False) -> JoinGroupResponse:
    """What a member is told of its generation; the leader is told of everyone in it."""
    members = _everyone(body) if member.id == body.leader else []
    return JoinGroupResponse(
        generation_id=body.generation,
        protocol_type=body.protocol_type,
        protocol_name=body.protocol,
        leader=body.leader or "",
        skip_assignment=skip_assignment,
        member_id=member.id,
        members=members,
    )


def _everyone(body: Classic) -> Any:
    everyone = Everyone(body)
    return list(everyone) if len(everyone) <= LISTED_AT_ONCE_MAX else everyone


class Everyone:
    """The members of a generation, described to its leader one after the other as they are written.
    They stay what they are as long as the generation waits for its plan."""

    __slots__ = ("_members", "_protocol")

    def __init__(self, body: Classic) -> None:
        self._members = list(body.members.values())
        self._protocol = body.protocol or ""

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[JoinGroupResponseMember]:
        for each in self._members:
            metadata = each.protocols.get(self._protocol, b"")
            yield JoinGroupResponseMember(each.id, each.instance_id, metadata)


def refuse_join(turn: Turn, body: Classic, member: Member, code: ErrorCode) -> None:
    reply = body.take_join(member)
    if reply is not None:
        turn.answer(reply, JoinGroupResponse(error_code=code, member_id=member.id))


def refuse_sync(turn: Turn, member: Member, code: ErrorCode) -> None:
    reply, member.sync = member.sync, None
    if reply is not None:
        turn.answer(reply, SyncGroupResponse(error_code=code))


def touch(turn: Turn, member: Member) -> None:
    """It has shown that it is alive."""
    timeout_ms = member.session_timeout_ms
    if member.is_new and member.join is not None:
        timeout_ms = max(timeout_ms, NEW_MEMBER_TIMEOUT_MS)
    member.deadline_ms = turn.time_ms + timeout_ms
    turn.wake_at(member.deadline_ms)


def touch_all(turn: Turn, members: Collection[Member]) -> None:
    """The same for many who were waiting for us, and do so no more."""
    now_ms = turn.time_ms
    for member in members:
        member.deadline_ms = now_ms + member.session_timeout_ms
    if members:
        turn.wake_at(min([member.deadline_ms for member in members]))
