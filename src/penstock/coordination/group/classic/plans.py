"""Plans of consumers of the classic protocol: bytes to us, but for the partitions in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from struct import error, unpack_from

from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.classic.subscriptions import (
    CONSUMER,
    NAMES_MAX,
    subscriptions,
    topics_of,
)
from penstock.coordination.pace import Pace
from penstock.errors import Malformed
from penstock.log.steps import Steps
from penstock.metadata.image import Image
from penstock.wire.stored.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from penstock.wire.stored_codec import decode_embedded

PART_COST = 10
"""What a topic of a plan costs to read, in names of topics."""

_COUNT_AT = 2

Planned = defaultdict[str, set[int]]


def fits_topics(image: Image, body: Classic, pace: Pace) -> Steps[bool]:
    """Whether someone reads each partition of the topics that members want, and nobody any that is
    not there. A leader may leave out what it likes, but not what it could not know of. True as well
    where it cannot be told."""
    if body.protocol_type != CONSUMER:
        return True
    try:
        planned = yield from _planned(body, pace)
    except Malformed:
        return True
    for name, partitions in planned.items():
        if not _are_there(partitions, _size(image, name)):
            return False
        if pace.is_spent(1):
            yield None
    wanted = yield from _wanted(image, body, pace)
    return all(
        len(planned[name]) >= _size(image, name) or _changed_ms(image, name) < body.planned_ms
        for name in wanted
    )


def _are_there(partitions: Iterable[int], size: int) -> bool:
    return all(0 <= each < size for each in partitions)


def _size(image: Image, name: str) -> int:
    topic = image.readable.topic(name)
    return topic.record.partitions if topic is not None else 0


def _changed_ms(image: Image, name: str) -> int:
    """Since when it has had all of its partitions."""
    topic = image.readable.topic(name)
    return max(topic.record.created_ms, topic.record.grown_ms) if topic is not None else 0


def _wanted(image: Image, body: Classic, pace: Pace) -> Steps[set[str]]:
    """Of the topics that are there, by members who can be understood."""
    wanted: set[str] = set()
    for each in subscriptions(body):
        topics = topics_of(each) or frozenset()
        wanted.update(image.readable.topics.keys() & topics)
        if pace.is_spent(1 + len(topics)):
            yield None
    return wanted


def _planned(body: Classic, pace: Pace) -> Steps[Planned]:
    planned: Planned = defaultdict(set)
    for member in body.members.values():
        if member.assignment:
            parts = _parts(member.assignment)
            for each in parts:
                planned[each.topic].update(each.partitions)
            if pace.is_spent(1 + PART_COST * len(parts)):
                yield None
    return planned


def _parts(assignment: bytes) -> list[TopicPartition]:
    """Raises Malformed, also where there is more than would be read at once."""
    try:
        (count,) = unpack_from(">i", assignment, _COUNT_AT)
    except error:
        raise Malformed("a plan of a few bytes") from None
    if count > NAMES_MAX:
        raise Malformed(f"a plan of {count} topics")
    return decode_embedded(ConsumerProtocolAssignment, assignment).assigned_partitions
