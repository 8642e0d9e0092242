"""The members of a classic group as those of a group of KIP-848, made ready ahead of the turn that
makes it one, with pauses.

The change is one turn, or a crash would leave half of it. But most of the work is to read what the
members say, and to encode what is written of each, and that can be done before. Who comes, goes, or
gets a plan meanwhile makes it another group: then what was made ready is dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.classic.state import Classic, Member
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
from penstock.coordination.group.consumer.record_types import (
    EpochKey,
    EpochValue,
    HoldingKey,
    ProfileKey,
    TargetEpochKey,
    TargetEpochValue,
    TargetKey,
    TargetPart,
    TargetValue,
)
from penstock.coordination.group.consumer.records import holding_value, listed, profile_value
from penstock.coordination.group.consumer.requests import check_topic_count
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.consumer.subscriptions import NAMES_MAX, too_many_names
from penstock.coordination.pace import Pace
from penstock.coordination.turn import Event, ready_event
from penstock.errors import ErrorCode, Malformed, Refused
from penstock.log.steps import Steps
from penstock.metadata.image import Image

READ_COST = 50
WRITE_COST = 70
"""Of a member, beside its topics and partitions, in the unit of `Pace`."""
SELF_CONTAINED = frozenset({"range", "roundrobin", "sticky", "cooperative-sticky"})
"""Assignors that clients bring, whose plans need nothing beside the partitions. librdkafka puts
there what the member itself had said, and would else not get away from cooperative-sticky."""


class Conversion(NamedTuple):
    classic: Classic
    seen: list[Any]
    """What it was made of."""
    topics: Mapping[str, bytes | None]
    consumer: Consumer
    events: list[Event]

    def is_for(self, image: Image, body: Classic) -> bool:
        """Whether nothing has changed since."""
        return (
            body is self.classic
            and _seen(body) == self.seen
            and all(_id(image, name) == known for name, known in self.topics.items())
        )


def _seen(body: Classic) -> list[Any]:
    return [
        body.generation,
        *(
            (
                each.id,
                each.protocols,
                each.assignment,
                each.before,
                each.session_timeout_ms,
                each.rebalance_timeout_ms,
            )
            for each in body.members.values()
        ),
    ]


def _id(image: Image, name: str) -> bytes | None:
    topic = image.readable.topic(name)
    return topic.id if topic else None


class _Read(NamedTuple):
    id: str
    profile: Profile
    held: Held


def convert(image: Image, name: str, body: Classic) -> Steps[Conversion]:
    """Raises Refused if what the members say does not let it change."""
    seen, epoch, pace = _seen(body), body.generation, Pace()
    topics: dict[str, bytes | None] = {}
    read = yield from _read_all(image, body, topics, pace)
    holders: Counter[Place] = Counter()
    for each in read:
        holders.update(places(each.held.possible))
    consumer = Consumer()
    consumer.epoch = consumer.target_epoch = epoch
    events: list[Event] = []
    for each in read:
        member = ConsumerMember(each.id, each.profile, each.held.holding(epoch, holders))
        _add(consumer, member)
        events += _member_events(name, consumer.members[each.id])
        if pace.is_spent(WRITE_COST):
            yield None
    events += _epoch_events(name, epoch)
    return Conversion(body, seen, topics, consumer, events)


def _read_all(
    image: Image, body: Classic, topics: dict[str, bytes | None], pace: Pace
) -> Steps[list[_Read]]:
    """`topics`: takes down those that anyone may have partitions of."""
    read = []
    for member in list(body.members.values()):
        try:
            profile, held = _profile(member), _held(image, body, member, topics)
        except Malformed as problem:
            raise refused(f"what they say cannot be read: {problem}") from None
        read.append(_Read(member.id, profile, held))
        parts = sum(map(len, held.possible.values()))
        if pace.is_spent(READ_COST + len(profile.topics) + parts):
            yield None
    return read


def _add(consumer: Consumer, member: ConsumerMember) -> None:
    """With the names of topics that others have too, as they are when they are read back."""
    topics = consumer.interests.shared(member.profile.topics)
    consumer.put(replace(member, profile=replace(member.profile, topics=topics)))
    consumer.target[member.id] = member.holding.assigned
    if consumer.interests.names > NAMES_MAX:
        raise refused(too_many_names(consumer.interests.names).message)


def _member_events(name: str, member: ConsumerMember) -> Iterator[Event]:
    target = TargetValue(listed(member.holding.assigned, TargetPart))
    yield ready_event(ProfileKey(name, member.id), profile_value(member.profile))
    yield ready_event(TargetKey(name, member.id), target)
    yield ready_event(HoldingKey(name, member.id), holding_value(member.holding))


def _epoch_events(name: str, epoch: int) -> Iterator[Event]:
    yield ready_event(EpochKey(name), EpochValue(epoch, 0))
    yield ready_event(TargetEpochKey(name), TargetEpochValue(epoch))


def refused(reason: str) -> Refused:
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


def _profile(member: Member) -> Profile:
    subscription = subscription_of(member.protocols)
    try:
        check_topic_count(subscription.topics)
    except Refused as problem:
        raise refused(problem.message) from None
    return profile_of_classic(
        subscription,
        member.protocols,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
    )


def _held(image: Image, body: Classic, member: Member, topics: dict[str, bytes | None]) -> Held:
    """A member has what it said when it joined, or what it got since, or, while it takes its time
    over that, both. Without a plan it is to keep what it has."""
    plan = plan_of(member.assignment)
    if plan.user_data and body.protocol not in SELF_CONTAINED:
        raise refused("their assignor tells them more than which partitions are theirs")
    owned = subscription_of(member.protocols).owned_partitions
    before = plan_of(member.before).assigned_partitions
    for parts in (plan.assigned_partitions, owned, before):
        topics.update((part.topic, _id(image, part.topic)) for part in parts)
    planned = by_id(image, plan.assigned_partitions)
    possible = together(together(planned, by_id(image, owned)), by_id(image, before))
    return Held(planned if member.assignment else possible, possible)
