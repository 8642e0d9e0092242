"""What tools are told of a share group."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.coordination.group.consumer.records import listed
from penstock.coordination.group.share.phases import GroupState
from penstock.coordination.group.share.state import ShareGroup, ShareMember
from penstock.metadata.image import Image
from penstock.wire.messages import k77_share_group_describe as k77

ASSIGNOR = "simple"
"""The name that tools know it by."""


def state_of(body: ShareGroup) -> GroupState:
    return GroupState.STABLE if body.members else GroupState.EMPTY


def describe(name: str, body: ShareGroup) -> k77.DescribedGroup:
    """All but its members."""
    return k77.DescribedGroup(
        group_id=name,
        group_state=state_of(body).value,
        group_epoch=body.epoch,
        assignment_epoch=body.target_epoch,
        assignor_name=ASSIGNOR,
    )


def described_members(image: Image, body: ShareGroup) -> Iterator[k77.Member]:
    """As they are when the first is asked for, however long the others take: they are values."""
    for member in list(body.members.values()):
        yield _member(image, member)


def _member(image: Image, member: ShareMember) -> k77.Member:
    profile = member.profile
    return k77.Member(
        member_id=member.id,
        rack_id=profile.rack_id,
        member_epoch=member.epoch,
        client_id=profile.client_id,
        client_host=profile.client_host,
        subscribed_topic_names=list(profile.topics),
        assignment=_described(image, member),
    )


def _described(image: Image, member: ShareMember) -> k77.Assignment:
    """Of topics that are there: others have no name to be told by."""
    parts = []
    for topic_id, partitions in listed(member.holding.assigned, lambda topic, each: (topic, each)):
        topic = image.topic_by_id(topic_id)
        if topic is not None:
            parts.append(k77.TopicPartitions(topic.shown_id, topic.name, partitions))
    return k77.Assignment(parts)
