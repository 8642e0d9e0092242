"""A group of KIP-848 becomes one of the classic protocol when only members of that are left.

That is one turn, or a crash would leave half of it. What many members become is made ready before,
in turns of its own; if any of them has changed by then, it is made anew.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from penstock.coordination.group.assignors import at_once
from penstock.coordination.group.classic.phases import Phase
from penstock.coordination.group.classic.rounds import begin_round, touch
from penstock.coordination.group.classic.state import Classic, Member
from penstock.coordination.group.classic.stored import (
    PLAN_BYTES_MAX,
    write_empty_of_new,
    write_plan,
)
from penstock.coordination.group.classic.subscriptions import CONSUMER
from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.embedded import plan_bytes
from penstock.coordination.group.consumer.member import ConsumerMember
from penstock.coordination.group.consumer.reconciling import held
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.consumer.stored import member_ends, write_end
from penstock.coordination.group.groups import Group
from penstock.coordination.pace import COST_A_SLICE, Pace
from penstock.coordination.turn import Event, Turn
from penstock.log.steps import Steps
from penstock.metadata.image import Image

MEMBER_COST = 20
"""Of a member that is made ready, beside its partitions, in the unit of `Pace`."""
TRIES = 3
AT_ONCE_MAX = 200
"""Members that need no turns of their own."""
POLICIES = ("bidirectional", "downgrade")


def has_many(draft: Draft) -> bool:
    return draft.size > AT_ONCE_MAX


def is_to_be_classic(draft: Draft) -> bool:
    if draft.natives or not draft.size:
        return False
    return draft.turn.config.group_consumer_migration_policy in POLICIES


class Ready(NamedTuple):
    members: list[ConsumerMember]
    """That it was made of."""
    classic: list[Member]
    ends: list[Event]

    def is_for(self, draft: Draft) -> bool:
        return self.members == list(draft.members())


class Returning:
    """The classic group, on its way. It is lost with the leader."""

    __slots__ = ("_left", "_steps", "ready")

    def __init__(self) -> None:
        self._left = TRIES
        self._steps: Steps[Ready] | None = None
        self.ready: Ready | None = None

    def go_on(self, draft: Draft) -> bool:
        """Take a step; False after the last one, or when it was in vain too often."""
        if self._steps is None:
            self._left -= 1
            self._steps = _made_ready(draft.turn.image, draft.name, list(draft.members()))
        try:
            next(self._steps)
        except StopIteration as end:
            self._steps, self.ready = None, end.value
            return self._left > 0 and not end.value.is_for(draft)
        return True


def go_back(draft: Draft, group: Group) -> None:
    """In a turn that is for nothing else."""
    body, turn = draft.body, draft.turn
    body.returning = body.returning or Returning()
    if body.returning.go_on(draft):
        turn.spend(COST_A_SLICE)
        turn.wake_at(turn.time_ms)
    else:
        downgrade(draft, group, body.returning.ready)


def _made_ready(image: Image, name: str, members: list[ConsumerMember]) -> Steps[Ready]:
    pace = Pace()
    ready = Ready(members, [], [])
    for member in members:
        ready.classic.append(_classic_member(image, member))
        ready.ends.extend(member_ends(name, member.id))
        if pace.is_spent(MEMBER_COST + sum(map(len, member.holding.assigned.values()))):
            yield None
    return ready


def downgrade(draft: Draft, group: Group, ready: Ready | None = None) -> None:
    """The members of the draft join anew, in a round that begins at once.

    Memory knows more of that round than the log, so it is handed on. Whoever loads the group from
    the log begins that round too.
    """
    turn, body = draft.turn, draft.body
    classic = Classic()
    classic.protocol_type = CONSUMER
    classic.generation = body.epoch
    if ready is None or not ready.is_for(draft):
        ready = at_once(_made_ready(turn.image, group.name, list(draft.members())))
    for member in ready.classic:
        classic.add(member)
    classic.protocol = classic.choose_protocol()
    classic.phase = Phase.STABLE
    write_end(turn, group, _all_ends(draft, ready))
    plan = {member.id: member.assignment for member in classic.members.values()}
    if sum(map(len, plan.values())) > PLAN_BYTES_MAX:
        plan = {}  # it is not going to last, and memory has it
    write_plan(turn, group.name, classic, plan, will_last=False)
    for each in classic.members.values():
        touch(turn, each)
    begin_round(turn, group, classic)
    turn.hand_on(partial(group.become, classic))


def _all_ends(draft: Draft, ready: Ready) -> list[Event]:
    """Of those who go in this turn, too."""
    gone = [member_id for member_id, member in draft.changed.items() if member is None]
    return ready.ends + [event for each in gone for event in member_ends(draft.name, each)]


def _classic_member(image: Image, member: ConsumerMember) -> Member:
    """What it has yet to give up is in its part of the plan: nobody else is to have that."""
    profile, classic, holding = member.profile, member.profile.classic, member.holding
    assert classic is not None
    return Member(
        id=member.id,
        instance_id=profile.instance_id,
        client_id=profile.client_id,
        client_host=profile.client_host,
        session_timeout_ms=classic.session_timeout_ms,
        rebalance_timeout_ms=profile.rebalance_timeout_ms,
        protocols=dict(classic.protocols),
        assignment=plan_bytes(image, held(holding), classic.protocols),
        is_new=False,
    )


def as_classic(turn: Turn, group: Group, body: Consumer) -> Classic:
    """A group without members, to be joined by one of the classic protocol. Since when it has had
    none is written, or its offsets might be taken for old ones."""
    classic = Classic()
    classic.generation = body.epoch
    write_empty_of_new(turn, group.name, classic)
    write_end(turn, group)
    return classic
