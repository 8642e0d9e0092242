"""What members of the classic protocol tell each other, which we read and write for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import error, unpack_from

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.consumer.member import ClassicPart, Profile
from penstock.coordination.group.consumer.records import listed
from penstock.errors import Malformed
from penstock.metadata.image import Image
from penstock.wire.stored.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
)
from penstock.wire.stored.consumer_protocol_assignment import TopicPartition as Planned
from penstock.wire.stored.consumer_protocol_subscription import (
    ConsumerProtocolSubscription,
)
from penstock.wire.stored.consumer_protocol_subscription import TopicPartition as Owned
from penstock.wire.stored_codec import decode_embedded, encode_value

Protocols = tuple[tuple[str, bytes], ...]


def subscription_of(protocols: Mapping[str, bytes]) -> ConsumerProtocolSubscription:
    """Of a member: the first of its protocols says it, as all of them do. Raises Malformed."""
    first = next(iter(protocols.values()), b"")
    return decode_embedded(ConsumerProtocolSubscription, first)


def plan_of(assignment: bytes) -> ConsumerProtocolAssignment:
    """A member's part of a plan; raises Malformed."""
    if not assignment:
        return ConsumerProtocolAssignment()
    return decode_embedded(ConsumerProtocolAssignment, assignment)


def profile_of_classic(
    subscription: ConsumerProtocolSubscription,
    protocols: Mapping[str, bytes],
    *,
    instance_id: str | None,
    client_id: str,
    client_host: str,
    session_timeout_ms: int,
    rebalance_timeout_ms: int,
) -> Profile:
    return Profile(
        instance_id=instance_id,
        rack_id=subscription.rack_id,
        client_id=client_id,
        client_host=client_host,
        topics=tuple(sorted(set(subscription.topics))),
        rebalance_timeout_ms=rebalance_timeout_ms,
        classic=ClassicPart(session_timeout_ms, tuple(protocols.items())),
    )


def by_id(image: Image, parts: Iterable[Owned | Planned]) -> Assignment:
    """Of topics that are there."""
    found: dict[bytes, frozenset[int]] = {}
    for part in parts:
        topic = image.readable.topic(part.topic)
        if topic is not None and part.partitions:
            found[topic.id] = found.get(topic.id, frozenset()).union(part.partitions)
    return found


def plan_bytes(image: Image, assigned: Assignment, protocols: Protocols) -> bytes:
    """In the version that the member itself speaks."""
    parts = []
    for topic_id, partitions in listed(assigned, lambda topic, each: (topic, each)):
        topic = image.readable.topic_by_id(topic_id)
        if topic is not None:
            parts.append(Planned(topic.name, partitions))
    version = min(_version(protocols), ConsumerProtocolAssignment.MAX_VERSION)
    return encode_value(ConsumerProtocolAssignment(parts), version)


def _version(protocols: Protocols) -> int:
    try:
        return max(0, int(unpack_from(">h", protocols[0][1])[0]))
    except (IndexError, error):
        raise Malformed("a member says nothing of itself") from None
