"""Members and what they have, as they are in records, requests and answers, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.consumer.member import ClassicPart, Holding, Profile
from penstock.coordination.group.consumer.record_types import (
    HoldingPart,
    HoldingValue,
    ProfileValue,
)
from penstock.wire.stored.consumer_group_member_metadata import (
    ClassicMemberMetadata,
    ClassicProtocol,
)

T = TypeVar("T")


class Listed(Protocol):
    """Partitions of one topic, as every message has them in a class of its own."""

    @property
    def topic_id(self) -> bytes: ...

    @property
    def partitions(self) -> list[int]: ...


def assignment_of(listed: Iterable[Listed]) -> Assignment:
    found: dict[bytes, frozenset[int]] = {}
    for each in listed:
        if each.partitions:
            found[each.topic_id] = found.get(each.topic_id, frozenset()).union(each.partitions)
    return found


def listed(assignment: Assignment, kind: Callable[[bytes, list[int]], T]) -> list[T]:
    """In order, so that the same assignment always makes the same bytes."""
    return [kind(topic, sorted(assignment[topic])) for topic in sorted(assignment)]


def profile_of(value: ProfileValue, intern: Callable[[str], str]) -> Profile:
    return Profile(
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topics=tuple(map(intern, value.subscribed_topic_names)),
        regex=value.subscribed_topic_regex or "",
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        assignor=value.server_assignor,
        classic=_classic_part(value.classic_member_metadata),
    )


def _classic_part(value: ClassicMemberMetadata | None) -> ClassicPart | None:
    if value is None:
        return None
    protocols = {each.name: bytes(each.metadata) for each in value.supported_protocols}
    return ClassicPart(value.session_timeout_ms, tuple(protocols.items()))


def profile_value(profile: Profile) -> ProfileValue:
    return ProfileValue(
        instance_id=profile.instance_id,
        rack_id=profile.rack_id,
        client_id=profile.client_id,
        client_host=profile.client_host,
        subscribed_topic_names=list(profile.topics),
        subscribed_topic_regex=profile.regex or None,
        rebalance_timeout_ms=profile.rebalance_timeout_ms,
        server_assignor=profile.assignor,
        classic_member_metadata=_classic_value(profile.classic),
    )


def _classic_value(part: ClassicPart | None) -> ClassicMemberMetadata | None:
    if part is None:
        return None
    protocols = [ClassicProtocol(name, metadata) for name, metadata in part.protocols]
    return ClassicMemberMetadata(part.session_timeout_ms, protocols)


def holding_value(holding: Holding) -> HoldingValue:
    return HoldingValue(
        member_epoch=holding.epoch,
        previous_member_epoch=holding.previous_epoch,
        state=holding.state,
        assigned_partitions=listed(holding.assigned, HoldingPart),
        partitions_pending_revocation=listed(holding.revoking, HoldingPart),
    )
