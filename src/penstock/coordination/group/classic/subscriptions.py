"""What consumers of the classic protocol say of themselves: bytes to us, but for the topics."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from penstock.coordination.group.classic.state import Classic, Member
from penstock.errors import Malformed
from penstock.wire.stored.consumer_protocol_subscription import ConsumerProtocolSubscription
from penstock.wire.stored_codec import decode_embedded

CONSUMER = "consumer"
"""The protocol type whose metadata we can read. Others, such as Connect's, keep theirs."""
REMEMBERED_BYTES_MAX = 4096
"""Of metadata whose topics are kept at hand."""

Topics = frozenset[str] | None
"""None: it cannot be told."""


def classic_subscribes_to(body: Classic, topics: Collection[str]) -> bool:
    """Whether a member is known to read any of them."""
    return any(not each.isdisjoint(topics) for each in _subscriptions(body) if each is not None)


def may_subscribe_to(body: Classic, topic: str) -> bool:
    """The same with the doubt on the other side: who has not said what it reads may read this."""
    if body.protocol_type != CONSUMER:
        return False
    return any(each is None or topic in each for each in _subscriptions(body))


def what_it_wants(body: Classic, member: Member) -> object:
    """By which a member that has come back can be told from one that wants something else. What it
    says of its former work does not count: that is in the plan."""
    metadata = body.metadata(member)
    if body.protocol_type != CONSUMER:
        return metadata
    topics = topics_of(metadata)
    return metadata if topics is None else topics


def _subscriptions(body: Classic) -> list[Topics]:
    """Each once: members of a group mostly say the same."""
    if body.protocol_type != CONSUMER:
        return []
    return [topics_of(each) for each in {body.metadata(each) for each in body.members.values()}]


def topics_of(metadata: bytes) -> Topics:
    return _remembered(metadata) if len(metadata) <= REMEMBERED_BYTES_MAX else _read(metadata)


def _read(metadata: bytes) -> Topics:
    try:
        return frozenset(decode_embedded(ConsumerProtocolSubscription, metadata).topics)
    except Malformed:
        return None


_remembered = lru_cache(maxsize=1000)(_read)
