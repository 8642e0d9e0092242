"""A group of the classic protocol becomes one of KIP-848 when the first member of that joins.

Its classic members stay, with what they have: that is their target too, until the next one.
"""

from __future__ import annotations

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.classic.phases import Phase
from penstock.coordination.group.classic.rounds import refuse_join, refuse_sync
from penstock.coordination.group.classic.state import Classic, Member
from penstock.coordination.group.classic.stored import write_end
from penstock.coordination.group.classic.subscriptions import CONSUMER
from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.embedded import (
    by_id,
    plan_of,
    profile_of_classic,
    subscription_of,
)
from penstock.coordination.group.consumer.member import ConsumerMember, Holding
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.groups import Group
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Malformed, Refused

POLICIES = ("bidirectional", "upgrade")
SELF_CONTAINED = frozenset({"range", "roundrobin", "sticky", "cooperative-sticky"})
"""Assignors that clients bring, whose plans need nothing beside the partitions. librdkafka puts
there what the member itself had said, and would else not get away from cooperative-sticky."""


def upgraded(turn: Turn, group: Group, body: Classic) -> Draft:
    """The group as one of this protocol, at least as far on as it was. It may not be possible."""
    draft = Draft(turn, group.name, Consumer())
    if body.members:
        _check_possible(turn, body)
        _convert(draft, body)
    else:
        draft.epoch = body.generation + 1
    if body.is_saved:
        write_end(turn, group.name)
    turn.wake_at(turn.time_ms)  # for their sessions
    return draft


def _check_possible(turn: Turn, body: Classic) -> None:
    limit = turn.config.group_consumer_max_size
    if turn.config.group_consumer_migration_policy not in POLICIES:
        raise _refused("group.consumer.migration.policy does not let it change protocol")
    if body.protocol_type != CONSUMER:
        raise _refused(f"its protocol type is {body.protocol_type[:100]!r}")
    if len(body.members) > limit:
        raise _refused(f"it has more than group.consumer.max.size={limit} members")


def _refused(reason: str) -> Refused:
    return Refused(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"the group has members of the classic protocol, and {reason}; stop them first",
    )


def _convert(draft: Draft, body: Classic) -> None:
    for member in body.members.values():
        try:
            profile = profile_of_classic(
                subscription_of(member.protocols),
                tuple(member.protocols.items()),
                instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                session_timeout_ms=member.session_timeout_ms,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
            )
            held = _held(draft.turn, body, member)
        except Malformed as problem:
            raise _refused(f"what they say cannot be read: {problem}") from None
        assigned = _claim(draft, member.id, held)
        holding = Holding(body.generation, body.generation, assigned=assigned)
        draft.put(ConsumerMember(member.id, profile, holding))
        draft.targets[member.id] = assigned
    draft.epoch = draft.target_epoch = body.generation


def _claim(draft: Draft, member_id: str, held: Assignment) -> Assignment:
    """What a member holds and nobody before it: a plan may have given a partition to two."""
    owners = draft.body.owners
    return {
        topic: own
        for topic, partitions in held.items()
        if (
            own := frozenset(
                each
                for each in partitions
                if owners.setdefault((topic, each), member_id) == member_id
            )
        )
    }


def _held(turn: Turn, body: Classic, member: Member) -> Assignment:
    """By the plan. While that is being made, what they have kept, if they do keep anything."""
    if body.phase is Phase.SYNCING:
        return by_id(turn.image, subscription_of(member.protocols).owned_partitions)
    plan = plan_of(member.assignment)
    if plan.user_data and body.protocol not in SELF_CONTAINED:
        raise _refused("their assignor tells them more than which partitions are theirs")
    return by_id(turn.image, plan.assigned_partitions)


def end_round(turn: Turn, body: Classic) -> None:
    """Who waits for it learns that there is another one: it joins again, as it does then."""
    for member in body.members.values():
        refuse_join(turn, body, member, ErrorCode.REBALANCE_IN_PROGRESS)
        refuse_sync(turn, member, ErrorCode.REBALANCE_IN_PROGRESS)
