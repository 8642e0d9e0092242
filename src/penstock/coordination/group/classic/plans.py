"""Plans of consumers of the classic protocol: bytes to us, but for the partitions in them."""

from __future__ import annotations

from collections import defaultdict

from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.classic.subscriptions import CONSUMER, topics_of
from penstock.errors import Malformed
from penstock.metadata.image import Image
from penstock.wire.stored.consumer_protocol_assignment import ConsumerProtocolAssignment
from penstock.wire.stored_codec import decode_embedded


def fits_topics(image: Image, body: Classic) -> bool:
    """Whether someone reads each partition of the topics that members want, and nobody any that is
    not there. True as well where it cannot be told."""
    if body.protocol_type != CONSUMER:
        return True
    wanted = _wanted(body)
    try:
        planned = _planned(body)
    except Malformed:
        return True
    for name in wanted | planned.keys():
        there = range(_size(image, name))
        if not planned[name].issubset(there):
            return False
        if name in wanted and len(planned[name]) < len(there):
            return False
    return True


def _size(image: Image, name: str) -> int:
    topic = image.topic(name)
    return topic.record.partitions if topic is not None else 0


def _wanted(body: Classic) -> set[str]:
    """Of members who can be understood; each subscription once, as most are the same."""
    subscriptions = {body.metadata(member) for member in body.members.values()}
    return {name for each in subscriptions for name in topics_of(each) or ()}


def _planned(body: Classic) -> defaultdict[str, set[int]]:
    planned: defaultdict[str, set[int]] = defaultdict(set)
    for member in body.members.values():
        if member.assignment:
            plan = decode_embedded(ConsumerProtocolAssignment, member.assignment)
            for each in plan.assigned_partitions:
                planned[each.topic].update(each.partitions)
    return planned
