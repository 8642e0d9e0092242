"""Share groups that are asked for by name, and the topics that they share."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from penstock.api.broker import Broker
from penstock.api.shard import Shard
from penstock.coordination.group.groups import Group
from penstock.coordination.group.share.heartbeat import no_such_group
from penstock.coordination.group.share.state import ShareGroup
from penstock.coordination.group.share.state import share_topics as topics_of
from penstock.errors import ErrorCode, Refused
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import INTERNAL


def share_group(broker: Broker, name: str) -> tuple[Shard[Group], Group]:
    """Raises Refused if there is none of that name, or not here."""
    shard = broker.groups.shard(name)
    group = shard.kept.get(name)
    if group is None or not isinstance(group.body, ShareGroup):
        raise no_such_group(name)
    return shard, group


def share_topics(group: Group) -> Mapping[bytes, Collection[int]]:
    """By topic id, partitions of which there are shares."""
    assert isinstance(group.body, ShareGroup)
    return topics_of(group.body)


def is_deleting(group: Group, topic_id: bytes) -> bool:
    """Its shares of that topic are on their way out."""
    assert isinstance(group.body, ShareGroup)
    return topic_id in group.body.begun.deleting


def check_empty(group: Group) -> None:
    if not group.is_empty:
        raise Refused(
            ErrorCode.NON_EMPTY_GROUP,
            f"group {group.name} has {len(group.body.members)} members: stop them first",
        )


def shareable_topic(image: Image, name: str) -> Topic:
    topic = image.topic(name)
    if topic is None or name in INTERNAL:
        raise Refused(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r} to be shared"
        )
    return topic
