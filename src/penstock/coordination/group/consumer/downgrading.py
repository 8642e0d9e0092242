"""A group of KIP-848 becomes one of the classic protocol when only members of that are left."""

from __future__ import annotations

from penstock.coordination.group.classic.phases import Phase
from penstock.coordination.group.classic.rounds import begin_round, touch
from penstock.coordination.group.classic.state import Classic, Member
from penstock.coordination.group.classic.stored import (
    PLAN_BYTES_MAX,
    write_empty,
    write_plan,
)
from penstock.coordination.group.classic.subscriptions import CONSUMER
from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.embedded import plan_bytes
from penstock.coordination.group.consumer.member import ConsumerMember
from penstock.coordination.group.consumer.reconciling import held
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.consumer.stored import write_end
from penstock.coordination.group.groups import Group
from penstock.coordination.turn import Turn

POLICIES = ("bidirectional", "downgrade")


def is_to_be_classic(draft: Draft) -> bool:
    if draft.natives or not draft.size:
        return False
    return draft.turn.config.group_consumer_migration_policy in POLICIES


def downgrade(draft: Draft, group: Group) -> None:
    """The members of the draft join anew, in a round that begins at once.

    Memory knows more of that round than the log: it is handed on as `Consumer.successor`. Whoever
    loads the group from the log begins that round too.
    """
    turn, body = draft.turn, draft.body
    classic = Classic()
    classic.protocol_type = CONSUMER
    classic.generation = body.epoch
    for member in draft.members():
        classic.add(_classic_member(turn, member))
    classic.protocol = classic.choose_protocol()
    classic.phase = Phase.STABLE
    write_end(turn, group)
    plan = {member.id: member.assignment for member in classic.members.values()}
    if sum(map(len, plan.values())) > PLAN_BYTES_MAX:
        plan = {}  # it is not going to last, and memory has it
    write_plan(turn, group.name, classic, plan, will_last=False)
    for each in classic.members.values():
        touch(turn, each)
    begin_round(turn, group, classic)
    body.successor = classic


def _classic_member(turn: Turn, member: ConsumerMember) -> Member:
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
        assignment=plan_bytes(turn.image, held(holding), classic.protocols),
        is_new=False,
    )


def as_classic(turn: Turn, group: Group, body: Consumer) -> Classic:
    """A group without members, to be joined by one of the classic protocol. Since when it has had
    none is written, or its offsets might be taken for old ones."""
    classic = Classic()
    classic.generation = body.epoch
    write_empty(turn, group.name, classic)
    write_end(turn, group)
    return classic
