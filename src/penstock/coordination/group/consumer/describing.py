"""What tools are told of a group."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.config import BrokerConfig
from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.consumer.member import ConsumerMember
from penstock.coordination.group.consumer.phases import GroupState
from penstock.coordination.group.consumer.records import listed
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.consumer.targets import choose_assignor
from penstock.coordination.group.groups import Group
from penstock.metadata.image import Image
from penstock.wire.messages import k69_consumer_group_describe as k69

CLASSIC_TYPE = 0
NATIVE_TYPE = 1


def state_name(group: Group) -> str:
    body = group.body
    assert isinstance(body, Consumer)
    return state_of(body).value


def state_of(body: Consumer) -> GroupState:
    if not body.members:
        return GroupState.EMPTY
    if body.is_assigning:
        return GroupState.ASSIGNING
    is_stable = body.settled[body.target_epoch] == len(body.members)
    return GroupState.STABLE if is_stable else GroupState.RECONCILING


def describe(config: BrokerConfig, group: Group, body: Consumer) -> k69.DescribedGroup:
    """All but its members."""
    return k69.DescribedGroup(
        group_id=group.name,
        group_state=state_of(body).value,
        group_epoch=body.epoch,
        assignment_epoch=body.target_epoch,
        assignor_name=choose_assignor(config, body.assignor_votes),
    )


def described_members(image: Image, body: Consumer) -> Iterator[k69.Member]:
    """As they are when the first is asked for, however long the others take: they are values."""
    members, target = list(body.members.values()), dict(body.target)
    for member in members:
        yield _member(image, target.get(member.id, {}), member)


def _member(image: Image, target: Assignment, member: ConsumerMember) -> k69.Member:
    profile = member.profile
    return k69.Member(
        member_id=member.id,
        instance_id=profile.instance_id,
        rack_id=profile.rack_id,
        member_epoch=member.epoch,
        client_id=profile.client_id,
        client_host=profile.client_host,
        subscribed_topic_names=list(profile.topics),
        subscribed_topic_regex=profile.regex or None,
        assignment=_described(image, member.holding.assigned),
        target_assignment=_described(image, target),
        member_type=NATIVE_TYPE if profile.classic is None else CLASSIC_TYPE,
    )


def _described(image: Image, assignment: Assignment) -> k69.Assignment:
    """Of topics that are there: others have no name to be told by."""
    parts = []
    for topic_id, partitions in listed(assignment, lambda topic, each: (topic, each)):
        topic = image.readable.topic_by_id(topic_id)
        if topic is not None:
            parts.append(k69.TopicPartitions(topic.shown_id, topic.name, partitions))
    return k69.Assignment(parts)
