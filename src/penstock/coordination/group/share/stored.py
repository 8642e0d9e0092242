"""What is written of a share group, and how it is read back.

A record of any kind makes a group a share group; with the last of them it is what a group is while
nothing is known of it. The log may have been compacted, so what is told of a member can come in any
order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.consumer.records import assignment_of, listed
from penstock.coordination.group.share.begun import Begun, Part, Parts
from penstock.coordination.group.share.record_types import (
    BegunKey,
    BegunPart,
    BegunValue,
    DeletingPart,
    EpochKey,
    EpochValue,
    HoldingKey,
    HoldingPart,
    HoldingValue,
    ProfileKey,
    ProfileValue,
    TargetEpochKey,
    TargetEpochValue,
    TargetKey,
    TargetValue,
)
from penstock.coordination.group.share.state import Holding, Profile, ShareGroup, ShareMember
from penstock.coordination.turn import Turn

if TYPE_CHECKING:
    from penstock.coordination.group.groups import Group, Groups

STABLE = 0
"""The one state that members of share groups are in."""


# -- writing


def write_profile(turn: Turn, group: str, member: ShareMember) -> None:
    said = member.profile
    value = ProfileValue(said.rack_id, said.client_id, said.client_host, list(said.topics))
    turn.write(ProfileKey(group, member.id), value)


def write_holding(turn: Turn, group: str, member: ShareMember) -> None:
    told = member.holding
    parts = listed(told.assigned, HoldingPart)
    value = HoldingValue(told.epoch, told.previous_epoch, STABLE, parts)
    turn.write(HoldingKey(group, member.id), value)


def write_member_end(turn: Turn, group: str, member_id: str) -> None:
    turn.write(TargetKey(group, member_id), None)
    turn.write(HoldingKey(group, member_id), None)
    turn.write(ProfileKey(group, member_id), None)


def write_begun(turn: Turn, group: str, begun: Begun) -> None:
    """Where nothing is left, nothing is to be said."""
    turn.write(BegunKey(group), None if begun.is_blank else _begun_value(begun))


def write_end(turn: Turn, group: Group, left: Begun) -> None:
    """All that is stored of it goes, but for `left`."""
    turn.write(TargetEpochKey(group.name), None)
    turn.write(EpochKey(group.name), None)
    write_begun(turn, group.name, left)


def _begun_value(begun: Begun) -> BegunValue:
    return BegunValue(
        initializing_topics=_listed_parts(begun.initializing),
        initialized_topics=_listed_parts(begun.initialized),
        deleting_topics=[DeletingPart(*each) for each in sorted(begun.deleting.items())],
    )


def _listed_parts(parts: Parts) -> list[BegunPart]:
    """In order, so that the same always makes the same bytes."""
    return [
        BegunPart(topic_id, part.name, sorted(part.partitions), part.since_ms)
        for topic_id, part in sorted(parts.items())
    ]


# -- reading


def apply_epoch(groups: Groups, key: EpochKey, value: EpochValue | None) -> None:
    if value is not None:
        body = _body(groups, key.group_id)
        body.epoch, body.metadata_hash = value.epoch, value.metadata_hash
        return

    def end(body: ShareGroup) -> None:
        body.epoch = body.metadata_hash = 0

    _end(groups, key.group_id, end)


def apply_profile(groups: Groups, key: ProfileKey, value: ProfileValue | None) -> None:
    if value is None:
        _end(groups, key.group_id, lambda body: body.remove(key.member_id))
        return
    body = _body(groups, key.group_id)
    member = body.members.get(key.member_id) or ShareMember(key.member_id)
    topics = body.shared(tuple(map(groups.intern, value.subscribed_topic_names)))
    profile = Profile(value.rack_id, value.client_id, value.client_host, topics)
    body.put(replace(member, profile=profile))


def apply_holding(groups: Groups, key: HoldingKey, value: HoldingValue | None) -> None:
    if value is not None:
        body = _body(groups, key.group_id)
        member = body.members.get(key.member_id) or ShareMember(key.member_id)
        assigned = assignment_of(value.assigned_partitions)
        holding = Holding(value.member_epoch, value.previous_member_epoch, assigned)
        body.put(replace(member, holding=holding))
        return

    def end(body: ShareGroup) -> None:
        left = body.members.get(key.member_id)
        if left is not None:
            body.put(replace(left, holding=Holding()))

    _end(groups, key.group_id, end)


def apply_target(groups: Groups, key: TargetKey, value: TargetValue | None) -> None:
    if value is not None:
        _body(groups, key.group_id).target[key.member_id] = assignment_of(value.topic_partitions)
    else:
        _end(groups, key.group_id, lambda body: _drop(body.target, key.member_id))


def _drop(target: dict[str, Any], member_id: str) -> None:
    target.pop(member_id, None)


def apply_target_epoch(groups: Groups, key: TargetEpochKey, value: TargetEpochValue | None) -> None:
    if value is not None:
        _body(groups, key.group_id).target_epoch = value.assignment_epoch
        return

    def end(body: ShareGroup) -> None:
        body.target_epoch = 0

    _end(groups, key.group_id, end)


def apply_begun(groups: Groups, key: BegunKey, value: BegunValue | None) -> None:
    name = key.group_id
    if value is not None:
        begun = Begun(
            _parts(groups, value.initializing_topics),
            _parts(groups, value.initialized_topics),
            {each.topic_id: each.topic_name for each in value.deleting_topics},
        )
        _body(groups, name).begun = begun
        groups.note_shares(name, has_work=begun.has_work)
        return

    def end(body: ShareGroup) -> None:
        body.begun = Begun()

    groups.note_shares(name, has_work=False)
    _end(groups, name, end)


def _parts(groups: Groups, listed: Iterable[BegunPart]) -> Mapping[bytes, Part]:
    return {
        each.topic_id: Part(
            groups.intern(each.topic_name), frozenset(each.partitions), each.create_timestamp
        )
        for each in listed
    }


def _body(groups: Groups, name: str) -> ShareGroup:
    """Of a group that is a share group from now on, whatever it was before."""
    group = groups.get_or_add(name)
    if not isinstance(group.body, ShareGroup):
        group.body = ShareGroup()
    return group.body


def _end(groups: Groups, name: str, end: Callable[[ShareGroup], None]) -> None:
    """It says nothing of a group that has become something else, or is gone."""
    group = groups.get(name)
    if group is not None and isinstance(group.body, ShareGroup):
        end(group.body)
        if group.body.is_blank:
            group.body = Classic()


APPLY: dict[type[Any], Any] = {
    EpochKey: apply_epoch,
    ProfileKey: apply_profile,
    HoldingKey: apply_holding,
    TargetKey: apply_target,
    TargetEpochKey: apply_target_epoch,
    BegunKey: apply_begun,
}
