"""A group of the classic protocol becomes one of KIP-848 when the first member of that joins.

Its classic members stay. What they are to have by their plan is their target too, until the next
one; what they may have beside that they are to give up before anyone else gets it.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from msgspec.structs import replace

from penstock.coordination.group.assignors import Assignment
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
from penstock.coordination.group.consumer.member import (
    ConsumerMember,
    Holding,
    Place,
    Profile,
    places,
)
from penstock.coordination.group.consumer.phases import MemberState
from penstock.coordination.group.consumer.reconciling import together, without
from penstock.coordination.group.consumer.requests import check_topic_count
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.consumer.subscriptions import NAMES_MAX, too_many_names
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


class Held(NamedTuple):
    planned: Assignment
    possible: Assignment
    """All that it may have, the plan's part included."""

    def holding(self, epoch: int, holders: Counter[Place]) -> Holding:
        """It keeps what it is to have and nobody else may have: a plan may err, or be late."""
        assigned = {
            topic: own
            for topic, partitions in self.planned.items()
            if (own := frozenset(each for each in partitions if holders[topic, each] == 1))
        }
        revoking = without(self.possible, assigned)
        state = MemberState.REVOKING if revoking else MemberState.STABLE
        return Holding(epoch, epoch, state, assigned, revoking)


def _convert(draft: Draft, body: Classic) -> None:
    try:
        profiles = _profiles(body)
        held = {member.id: _held(draft.turn, body, member) for member in body.members.values()}
    except Malformed as problem:
        raise _refused(f"what they say cannot be read: {problem}") from None
    holders: Counter[Place] = Counter()
    for each in held.values():
        holders.update(places(each.possible))
    for member_id, profile in profiles.items():
        holding = held[member_id].holding(body.generation, holders)
        draft.put(ConsumerMember(member_id, profile, holding))
        draft.targets[member_id] = holding.assigned
        draft.body.claim(member_id, holding)
    draft.epoch = draft.target_epoch = body.generation


def _profiles(body: Classic) -> dict[str, Profile]:
    """Whose names are one object where they are the same, as in a group (`Interests.shared`)."""
    profiles = {member.id: _profile(member) for member in body.members.values()}
    one = {each.topics: each.topics for each in profiles.values()}
    if (names := sum(map(len, one))) > NAMES_MAX:
        raise _refused(too_many_names(names).message)
    return {
        member_id: replace(each, topics=one[each.topics]) for member_id, each in profiles.items()
    }


def _profile(member: Member) -> Profile:
    subscription = subscription_of(member.protocols)
    try:
        check_topic_count(subscription.topics)
    except Refused as refused:
        raise _refused(refused.message) from None
    return profile_of_classic(
        subscription,
        member.protocols,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
    )


def _held(turn: Turn, body: Classic, member: Member) -> Held:
    """A member has what it said when it joined, or what it got since, or, while it takes its time
    over that, both. Without a plan it is to keep what it has."""
    plan = plan_of(member.assignment)
    if plan.user_data and body.protocol not in SELF_CONTAINED:
        raise _refused("their assignor tells them more than which partitions are theirs")
    planned = by_id(turn.image, plan.assigned_partitions)
    owned = by_id(turn.image, subscription_of(member.protocols).owned_partitions)
    before = by_id(turn.image, plan_of(member.before).assigned_partitions)
    possible = together(together(planned, owned), before)
    return Held(planned if member.assignment else possible, possible)


def end_round(turn: Turn, body: Classic) -> None:
    """Who waits for it learns that there is another one: it joins again, as it does then."""
    for member in body.members.values():
        refuse_join(turn, body, member, ErrorCode.REBALANCE_IN_PROGRESS)
        refuse_sync(turn, member, ErrorCode.REBALANCE_IN_PROGRESS)
