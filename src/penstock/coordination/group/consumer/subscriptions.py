"""Which topics members subscribe to, by name or by expression, and what these are at present."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from hashlib import blake2b
from struct import pack, unpack

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.member import ConsumerMember, Profile
from penstock.metadata.cluster import Topic


def topics_of(draft: Draft, profile: Profile) -> Iterable[str]:
    """The names that a member subscribes to, whether there are such topics or not."""
    resolved = draft.regex(profile.regex) if profile.regex else None
    return {*profile.topics, *resolved.topics} if resolved else profile.topics


def subscribed(draft: Draft) -> dict[str, Topic]:
    """The topics that are there and that anyone in the group subscribes to, by name."""
    users, texts = draft.body.topic_users, draft.body.regex_users
    if draft.changed:
        users, texts = users.copy(), texts.copy()
        for before, after in draft.profiles():
            if before is not None:
                users.subtract(before.topics)
                texts[before.regex] -= 1
            if after is not None:
                users.update(after.topics)
                texts[after.regex] += 1
    names = {name for name, count in users.items() if count > 0}
    for text, count in texts.items():
        resolved = draft.regex(text) if count > 0 else None
        names.update(resolved.topics if resolved else ())
    topics = draft.turn.image.topics
    return {name: topics[name] for name in sorted(names) if name in topics}


def hash_of(topics: Iterable[Topic]) -> int:
    """Another number when a topic has come, gone, been made anew, or got more partitions."""
    summary = blake2b(digest_size=8)
    is_empty = True
    for topic in topics:
        summary.update(topic.id + pack(">i", topic.record.partitions))
        is_empty = False
    return 0 if is_empty else int(unpack(">q", summary.digest())[0])


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
    topic = draft.turn.image.topic_by_id(topic_id)
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
