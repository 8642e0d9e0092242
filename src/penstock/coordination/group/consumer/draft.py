"""A group as it will be once this turn's events are applied, while they are being thought out.

A decision must not change the group itself. It lays what it changes over the group here, asks here
for what it needs to know, and in the end writes what differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.consumer.member import ConsumerMember, Holding, Place, Profile
from penstock.coordination.group.consumer.record_types import (
    EpochKey,
    EpochValue,
    HoldingKey,
    ProfileKey,
    RegexKey,
    RegexValue,
    TargetEpochKey,
    TargetEpochValue,
    TargetKey,
    TargetPart,
    TargetValue,
)
from penstock.coordination.group.consumer.records import holding_value, listed, profile_value
from penstock.coordination.group.consumer.state import Consumer, Resolved
from penstock.coordination.group.consumer.stored import write_member_end
from penstock.coordination.turn import Turn


class Draft:
    def __init__(self, turn: Turn, name: str, body: Consumer) -> None:
        self.turn = turn
        self.name = name
        self.body = body
        self.epoch = body.epoch
        self.metadata_hash = body.metadata_hash
        self.target_epoch = body.target_epoch
        self.changed: dict[str, ConsumerMember | None] = {}
        """Members that are new or others than before; None of those that are to go."""
        self.targets: dict[str, Assignment] = {}
        self.resolved: dict[str, Resolved] = {}

    # -- what the group will be

    def member(self, member_id: str) -> ConsumerMember | None:
        if member_id in self.changed:
            return self.changed[member_id]
        return self.body.members.get(member_id)

    def holder_of(self, instance_id: str | None) -> ConsumerMember | None:
        """The static member of this instance."""
        if instance_id is None:
            return None
        for member in self.changed.values():
            if member is not None and member.instance_id == instance_id:
                return member
        return self.body.members.get(self.body.static.get(instance_id, ""))

    def members(self) -> Iterator[ConsumerMember]:
        for member_id, member in self.body.members.items():
            if member_id not in self.changed:
                yield member
        for changed in self.changed.values():
            if changed is not None:
                yield changed

    @property
    def size(self) -> int:
        known = self.body.members
        return len(known) + sum(
            (member is not None) - (member_id in known)
            for member_id, member in self.changed.items()
        )

    @property
    def is_blank(self) -> bool:
        """Whether it has the same members and the same expressions as the group."""
        return not (self.changed or self.resolved)

    @property
    def natives(self) -> int:
        """Members that are not of the classic protocol."""
        count = self.body.natives
        for before, after in self.profiles():
            count += (after is not None and after.classic is None) - (
                before is not None and before.classic is None
            )
        return count

    def profiles(self) -> Iterator[tuple[Profile | None, Profile | None]]:
        """Of members that change, what they said of themselves before, and say now."""
        for member_id, member in self.changed.items():
            known = self.body.members.get(member_id)
            yield known.profile if known else None, member.profile if member else None

    def target(self, member_id: str) -> Assignment:
        if member_id in self.targets:
            return self.targets[member_id]
        return self.body.target.get(member_id, {})

    def regex(self, text: str) -> Resolved | None:
        return self.resolved.get(text) or self.body.regexes.get(text)

    def is_free_for(self, member_id: str, place: Place) -> bool:
        """Whether a member can be given a partition: no other has it, or has yet to give it up."""
        owner = self.body.owners.get(place)
        if owner is None or (owner == member_id and place not in self.body.rivals):
            return True
        others = map(self.member, self.body.holders(place) - {member_id})
        return not any(other is not None and other.holding.has(place) for other in others)

    def is_there(self, place: Place) -> bool:
        topic_id, index = place
        topic = self.turn.image.readable.topic_by_id(topic_id)
        return topic is not None and index < topic.record.partitions

    # -- what changes

    def put(self, member: ConsumerMember) -> None:
        self.changed[member.id] = member

    def hold(self, member: ConsumerMember, holding: Holding) -> ConsumerMember:
        if holding != member.holding:
            member = replace(member, holding=holding)
            self.put(member)
        return member

    def remove(self, member_id: str) -> None:
        self.changed[member_id] = None
        self.targets.pop(member_id, None)

    def bump(self) -> None:
        """The target has to be made anew. One that has not been begun yet will take it all in."""
        if self.epoch <= max(self.target_epoch, self.body.planned_epoch):
            self.epoch += 1

    # -- what is written

    def write(self) -> None:
        """In Kafka's order: members, the epoch, the target and its epoch, what members have."""
        self._write_regexes()
        self._write_members()
        turn, body = self.turn, self.body
        if (self.epoch, self.metadata_hash) != (body.epoch, body.metadata_hash):
            turn.write(EpochKey(self.name), EpochValue(self.epoch, self.metadata_hash))
        for member_id, target in self.targets.items():
            parts = listed(target, TargetPart)
            turn.write(TargetKey(self.name, member_id), TargetValue(parts))
        if self.target_epoch != body.target_epoch:
            turn.write(TargetEpochKey(self.name), TargetEpochValue(self.target_epoch))
        for member in self.changed.values():
            known = body.members.get(member.id) if member else None
            if member is not None and (known is None or known.holding != member.holding):
                turn.write(HoldingKey(self.name, member.id), holding_value(member.holding))

    def _write_members(self) -> None:
        for member_id, member in self.changed.items():
            known = self.body.members.get(member_id)
            if member is None:
                write_member_end(self.turn, self.name, member_id)
            elif known is None or known.profile != member.profile:
                self.turn.write(ProfileKey(self.name, member_id), profile_value(member.profile))

    def _write_regexes(self) -> None:
        for text, resolved in self.resolved.items():
            self.turn.write(
                RegexKey(self.name, text),
                RegexValue(sorted(resolved.topics), resolved.revision, resolved.time_ms),
            )
        for text in self._unused_regexes():
            self.turn.write(RegexKey(self.name, text), None)

    def _unused_regexes(self) -> list[str]:
        change: Counter[str] = Counter()
        for before, after in self.profiles():
            if before is not None and before.regex:
                change[before.regex] -= 1
            if after is not None and after.regex:
                change[after.regex] += 1
        users = self.body.regex_users
        return [
            text
            for text, step in change.items()
            if text in self.body.regexes and users[text] + step <= 0
        ]
