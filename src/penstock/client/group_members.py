"""Members of groups, told alike whichever protocol they speak."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from penstock.errors import Malformed
from penstock.wire.messages.k15_describe_groups import DescribedGroupMember
from penstock.wire.messages.k69_consumer_group_describe import Assignment
from penstock.wire.messages.k69_consumer_group_describe import Member as ConsumerMember
from penstock.wire.messages.k77_share_group_describe import Member as ShareMember
from penstock.wire.stored.consumer_protocol_assignment import ConsumerProtocolAssignment
from penstock.wire.stored.consumer_protocol_subscription import ConsumerProtocolSubscription
from penstock.wire.stored_codec import Versioned, decode_embedded

V = TypeVar("V", bound=Versioned)

Share = dict[str, list[int]]
"""Partitions by topic."""

_CONSUMERS = "consumer"
"""The protocol type of consumers; Connect and others put something of their own into the bytes."""


@dataclass(frozen=True, slots=True)
class Member:
    id: str
    instance_id: str | None
    client_id: str
    host: str
    assigned: Share
    topics: list[str] = field(default_factory=list)
    """What it is subscribed to, as far as that is told."""
    regex: str | None = None
    epoch: int | None = None
    target: Share | None = None
    """What it is going to have, only in the new protocol; share groups have epochs too."""

    @property
    def partition_count(self) -> int:
        return sum(map(len, self.assigned.values()))


def classic_member(told: DescribedGroupMember, protocol_type: str) -> Member:
    assigned: Share = {}
    topics: list[str] = []
    if protocol_type == _CONSUMERS:
        if plan := _embedded(ConsumerProtocolAssignment, told.member_assignment):
            assigned = {each.topic: sorted(each.partitions) for each in plan.assigned_partitions}
        if subscription := _embedded(ConsumerProtocolSubscription, told.member_metadata):
            topics = sorted(subscription.topics)
    return Member(
        id=told.member_id,
        instance_id=told.group_instance_id,
        client_id=told.client_id,
        host=_host(told.client_host),
        assigned=assigned,
        topics=topics,
    )


def consumer_member(told: ConsumerMember) -> Member:
    return Member(
        id=told.member_id,
        instance_id=told.instance_id,
        client_id=told.client_id,
        host=_host(told.client_host),
        assigned=_share(told.assignment),
        topics=sorted(told.subscribed_topic_names),
        regex=told.subscribed_topic_regex or None,
        epoch=told.member_epoch,
        target=_share(told.target_assignment),
    )


def share_member(told: ShareMember) -> Member:
    parts = told.assignment.topic_partitions
    return Member(
        id=told.member_id,
        instance_id=None,
        client_id=told.client_id,
        host=_host(told.client_host),
        assigned={each.topic_name: sorted(each.partitions) for each in parts},
        topics=sorted(told.subscribed_topic_names),
        epoch=told.member_epoch,
    )


def _host(told: str) -> str:
    """Brokers give addresses as Java writes them, after a name that may be empty."""
    return told.removeprefix("/")


def _share(told: Assignment) -> Share:
    return {each.topic_name: sorted(each.partitions) for each in told.topic_partitions}


def _embedded(kind: type[V], raw: bytes) -> V | None:
    """Clients make these bytes, so they may be anything; the rest is still worth showing."""
    try:
        return decode_embedded(kind, raw) if raw else None
    except Malformed:
        return None
