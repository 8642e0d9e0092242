"""What is written of a group of KIP-848, and how it is read back.

A record of any kind makes a group one of this protocol; the end of its ConsumerGroupMetadata makes
it one of the classic protocol, which is what a group is while nothing is known of it. The log may
have been compacted, so what is told of a member can come in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.consumer.member import ConsumerMember, Holding
from penstock.coordination.group.consumer.phases import MemberState
from penstock.coordination.group.consumer.record_types import (
    EpochKey,
    EpochValue,
    HoldingKey,
    HoldingValue,
    ProfileKey,
    ProfileValue,
    RegexKey,
    RegexValue,
    TargetEpochKey,
    TargetEpochValue,
    TargetKey,
    TargetValue,
)
from penstock.coordination.group.consumer.records import assignment_of, profile_of
from penstock.coordination.group.consumer.state import Consumer, Resolved
from penstock.coordination.turn import Event, Turn, ready_event
from penstock.errors import Malformed

if TYPE_CHECKING:
    from penstock.coordination.group.groups import Group, Groups


def write_end(turn: Turn, group: Group, ends: Sequence[Event] | None = None) -> None:
    """All that is stored of it goes, apart from offsets. `ends`: of its members, where they were
    made ready."""
    body, name = group.body, group.name
    if not isinstance(body, Consumer):
        return
    if ends is None:
        ends = [event for member_id in body.members for event in member_ends(name, member_id)]
    turn.write_ready(ends)
    for text in body.regexes:
        turn.write(RegexKey(name, text), None)
    turn.write(TargetEpochKey(name), None)
    turn.write(EpochKey(name), None)


def member_ends(group: str, member_id: str) -> list[Event]:
    """Of a member that goes with its group: so they are not applied."""
    return [
        ready_event(kind(group, member_id), None) for kind in (TargetKey, HoldingKey, ProfileKey)
    ]


def write_member_end(turn: Turn, group: str, member_id: str) -> None:
    turn.write(TargetKey(group, member_id), None)
    turn.write(HoldingKey(group, member_id), None)
    turn.write(ProfileKey(group, member_id), None)


def apply_epoch(groups: Groups, key: EpochKey, value: EpochValue | None) -> None:
    if value is not None:
        body = _body(groups, key.group_id)
        body.epoch, body.metadata_hash = value.epoch, value.metadata_hash
        return
    group = groups.get(key.group_id)
    if group is not None and isinstance(group.body, Consumer):
        group.body = Classic()


def apply_profile(groups: Groups, key: ProfileKey, value: ProfileValue | None) -> None:
    if value is not None:
        body = _body(groups, key.group_id)
        member = body.members.get(key.member_id) or ConsumerMember(key.member_id)
        profile = profile_of(value, groups.intern)
        profile = replace(profile, topics=body.interests.shared(profile.topics))
        body.put(replace(member, profile=profile))
    elif (known := _known(groups, key.group_id)) is not None:
        known.remove(key.member_id)


def apply_holding(groups: Groups, key: HoldingKey, value: HoldingValue | None) -> None:
    if value is not None:
        body = _body(groups, key.group_id)
        member = body.members.get(key.member_id) or ConsumerMember(key.member_id)
        body.put(replace(member, holding=_holding(value)))
        return
    known = _known(groups, key.group_id)
    left = known.members.get(key.member_id) if known else None
    if known is not None and left is not None:
        known.put(replace(left, holding=Holding()))


def _holding(value: HoldingValue) -> Holding:
    try:
        state = MemberState(value.state)
    except ValueError:
        raise Malformed(
            f"a member is in state {value.state}, which a newer release must have written"
        ) from None
    return Holding(
        value.member_epoch,
        value.previous_member_epoch,
        state,
        assignment_of(value.assigned_partitions),
        assignment_of(value.partitions_pending_revocation),
    )


def apply_target(groups: Groups, key: TargetKey, value: TargetValue | None) -> None:
    if value is not None:
        body = _body(groups, key.group_id)
        body.target[key.member_id] = assignment_of(value.topic_partitions)
    elif (known := _known(groups, key.group_id)) is not None:
        known.target.pop(key.member_id, None)


def apply_target_epoch(groups: Groups, key: TargetEpochKey, value: TargetEpochValue | None) -> None:
    if value is not None:
        _body(groups, key.group_id).target_epoch = value.assignment_epoch
    elif (known := _known(groups, key.group_id)) is not None:
        known.target_epoch = 0


def apply_regex(groups: Groups, key: RegexKey, value: RegexValue | None) -> None:
    if value is not None:
        topics = frozenset(map(groups.intern, value.topics))
        resolved = Resolved(topics, value.version, value.timestamp)
        _body(groups, key.group_id).resolve(key.regular_expression, resolved)
    elif (known := _known(groups, key.group_id)) is not None:
        known.resolve(key.regular_expression, None)


def _body(groups: Groups, name: str) -> Consumer:
    """Of a group that is of this protocol from now on, whatever it was before."""
    group = groups.get_or_add(name)
    if not isinstance(group.body, Consumer):
        group.body = Consumer()
    return group.body


def _known(groups: Groups, name: str) -> Consumer | None:
    """An end says nothing of a group that has become something else, or is gone."""
    group = groups.get(name)
    return group.body if group is not None and isinstance(group.body, Consumer) else None


APPLY: dict[type[Any], Any] = {
    EpochKey: apply_epoch,
    ProfileKey: apply_profile,
    HoldingKey: apply_holding,
    TargetKey: apply_target,
    TargetEpochKey: apply_target_epoch,
    RegexKey: apply_regex,
}
