"""Which topics members subscribe to, by name or by expression, and what these are at present."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.interests import Sized, hash_of, sized
from penstock.coordination.group.consumer.member import ConsumerMember, Profile
from penstock.errors import ErrorCode, Refused

NAMES_MAX = 100_000
"""Of topics in all different subscriptions of a group: some 20 MB, and a target that is made for
all of them. Members that name the same topics count once."""


class Subscribed(NamedTuple):
    """The topics that are there and that anyone in the group subscribes to."""

    topics: Mapping[str, Sized]
    hash: int


def check_names(draft: Draft, before: Profile, after: Profile) -> None:
    """Refuse a member whose topics are too many beside those of the others. With fewer than it has
    had it may always stay."""
    interests = draft.body.interests
    names = interests.names_after(before.topics, after.topics)
    if names > max(NAMES_MAX, interests.names):
        raise too_many_names(names)


def too_many_names(names: int) -> Refused:
    return Refused(
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        f"the members would name {names} topics in different subscriptions, {NAMES_MAX} are "
        "allowed: let them name the same, or use an expression, or another group",
    )


def subscribed(draft: Draft) -> Subscribed:
    """Of the group as it is, apart from what this turn changes."""
    interests = draft.body.interests
    interests.look(draft.turn.image.readable.topics)
    return Subscribed(dict(interests.present), interests.hash)


def subscribed_by(draft: Draft, profiles: Iterable[Profile]) -> Subscribed:
    """The same by these members: for a few, as it goes through all of their names."""
    topics = draft.turn.image.readable.topics
    names = set().union(*(topics_of(draft, each) for each in profiles))
    there = {name: sized(topics[name]) for name in names if name in topics}
    return Subscribed(there, hash_of(there.values()))


def topics_of(draft: Draft, profile: Profile) -> Iterable[str]:
    """The names that a member subscribes to, whether there are such topics or not."""
    resolved = draft.regex(profile.regex) if profile.regex else None
    return {*profile.topics, *resolved.topics} if resolved else profile.topics


def name_count(draft: Draft, profile: Profile) -> int:
    """What looking at these costs."""
    resolved = draft.regex(profile.regex) if profile.regex else None
    return len(profile.topics) + (len(resolved.topics) if resolved else 0)


def each_once(members: Iterable[ConsumerMember]) -> dict[tuple[int, str], Profile]:
    """One of those who want the same, by what it wants. The same names are the same object in a
    group, which saves looking at them."""
    return {kind_of(each.profile): each.profile for each in members}


def kind_of(profile: Profile) -> tuple[int, str]:
    return id(profile.topics), profile.regex


def wanted(draft: Draft, member: ConsumerMember) -> Assignment:
    """A member's target, without topics that it does not subscribe to any more, or that are gone.

    The target can be older than the member's subscription, if it is too soon for the next one.
    """
    target = draft.target(member.id)
    return {
        topic: partitions
        for topic, partitions in target.items()
        if _subscribes(draft, member.profile, topic)
    }


def _subscribes(draft: Draft, profile: Profile, topic_id: bytes) -> bool:
    topic = draft.turn.image.readable.topic_by_id(topic_id)
    if topic is None:
        return False
    if is_in(profile.topics, topic.name):
        return True
    resolved = draft.regex(profile.regex) if profile.regex else None
    return resolved is not None and topic.name in resolved.topics


def is_in(names: tuple[str, ...], name: str) -> bool:
    """Of sorted names."""
    at = bisect_left(names, name)
    return at < len(names) and names[at] == name
