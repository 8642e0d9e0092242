"""A share group as it will be once this turn's events are applied, while they are thought out.

A decision must not change the group itself. It lays what it changes over the group here, settles
what follows from that, and in the end writes what differs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from penstock.coordination.group.assignors import Assignment, Subscriber
from penstock.coordination.group.assignors.sharing import Lots
from penstock.coordination.group.consumer.interests import hash_of, sized
from penstock.coordination.group.consumer.records import listed
from penstock.coordination.group.share import begun as begun_with
from penstock.coordination.group.share.record_types import (
    EpochKey,
    EpochValue,
    TargetEpochKey,
    TargetEpochValue,
    TargetKey,
    TargetPart,
    TargetValue,
)
from penstock.coordination.group.share.state import Holding, Names, ShareGroup, ShareMember
from penstock.coordination.group.share.stored import (
    write_begun,
    write_holding,
    write_member_end,
    write_profile,
)
from penstock.coordination.turn import Turn
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import INTERNAL

AT_ONCE_MAX = 2_000
"""In partitions, of a group that is small: its target is made in the turn that needs it, in some
milliseconds."""
MEMBER_SIZE = 5
"""A member takes as long as so many partitions, as its part is written by itself."""
SIZE_COST = 3
"""Of a partition, in the unit of `Pace`."""


class Draft:
    def __init__(self, turn: Turn, name: str, body: ShareGroup) -> None:
        self.turn = turn
        self.name = name
        self.body = body
        self.epoch = body.epoch
        self.metadata_hash = body.metadata_hash
        self.begun = body.begun
        self.members = dict(body.members)
        self.target = dict(body.target)
        self.target_epoch = body.target_epoch

    def settle(self, *, is_changed: bool) -> None:
        """Begin with partitions that members want and nobody has begun with, and share out those
        that can be had, if these are others than before, or `is_changed` for another reason."""
        topics = subscribed(self.turn.image, self.members)
        now_ms = self.turn.now_ms
        self.begun = begun_with.without_gone(self.begun, self.turn.image, now_ms)
        self.begun = begun_with.begin_with(self.begun, topics.values(), now_ms)
        metadata_hash = hash_of(map(sized, topics.values()))
        is_other = metadata_hash != self.metadata_hash
        if is_changed or is_other or self.begun.initialized != self.body.begun.initialized:
            self.metadata_hash = metadata_hash
            self.epoch += 1
        if self.epoch != self.target_epoch:
            self._aim(topics)

    def _aim(self, topics: Mapping[str, Topic]) -> None:
        """At what members are to have. That of a large group is made by and by, in turns of its own
        (`making.py`)."""
        turn, body = self.turn, self.body
        partitions = assignable(self.begun, topics)
        size = size_of(self.members, partitions)
        if size > AT_ONCE_MAX or body.making is not None:
            turn.wake_at(max(turn.time_ms, body.target_due_ms))
            if not self.target_epoch:  # who joins is told of an epoch, and 0 is none
                self.target_epoch, self.epoch = self.epoch, self.epoch + 1
            return
        turn.spend(SIZE_COST * size)
        lots = self._lots(topics, partitions)
        self.target = {member_id: lots.part_of(member_id) for member_id in self.members}
        self.target_epoch = self.epoch

    def lots(self) -> tuple[Lots, int]:
        """For all members as they are here; and how large that is."""
        topics = subscribed(self.turn.image, self.members)
        partitions = assignable(self.begun, topics)
        return self._lots(topics, partitions), size_of(self.members, partitions)

    def _lots(self, topics: Mapping[str, Topic], partitions: Assignment) -> Lots:
        ids: dict[Names, frozenset[bytes]] = {}
        for member in self.members.values():
            names = member.profile.topics
            if names not in ids:
                ids[names] = frozenset(topics[each].id for each in names if each in topics)
        subscribers = [
            Subscriber(each.id, None, ids[each.profile.topics], self.body.target.get(each.id, {}))
            for each in self.members.values()
        ]
        return Lots(subscribers, partitions)

    def aim_at_own(self, member: ShareMember) -> None:
        """Who comes, or wants something else, need not wait for the target that is made for all."""
        if self.epoch != self.target_epoch:
            lots, size = self.lots()
            self.turn.spend(SIZE_COST * size)
            self.target[member.id] = lots.part_of(member.id)

    def bring_up(self, member: ShareMember) -> ShareMember:
        """A member that is here is told what it is to have, and has it from then on."""
        told, assigned, epoch = member.holding, self.target.get(member.id, {}), self.target_epoch
        if told.epoch != epoch:
            holding = Holding(epoch, told.epoch, assigned)
        elif told.assigned != assigned:
            holding = Holding(epoch, told.previous_epoch, assigned)
        else:
            return member
        member = self.members[member.id] = replace(member, holding=holding)
        return member

    # -- what is written

    def write(self) -> None:
        turn, name, body = self.turn, self.name, self.body
        self._write_members()
        if self.epoch != body.epoch or self.metadata_hash != body.metadata_hash:
            turn.write(EpochKey(name), EpochValue(self.epoch, self.metadata_hash))
        if self.begun != body.begun:
            write_begun(turn, name, self.begun)
        for member_id, part in self.target.items():
            if member_id in self.members and part != body.target.get(member_id):
                turn.write(TargetKey(name, member_id), TargetValue(listed(part, TargetPart)))
        if self.target_epoch != body.target_epoch:
            turn.write(TargetEpochKey(name), TargetEpochValue(self.target_epoch))
        self._write_holdings()

    def _write_members(self) -> None:
        known = self.body.members
        for member_id in known.keys() - self.members.keys():
            write_member_end(self.turn, self.name, member_id)
        for member in self.members.values():
            before = known.get(member.id)
            if before is not member and (before is None or before.profile != member.profile):
                write_profile(self.turn, self.name, member)

    def _write_holdings(self) -> None:
        for member in self.members.values():
            before = self.body.members.get(member.id)
            if before is not member and (before is None or before.holding != member.holding):
                write_holding(self.turn, self.name, member)


def subscribed(image: Image, members: Mapping[str, ShareMember]) -> dict[str, Topic]:
    """The topics that are there and that any of them names. What is no topic of its own cannot be
    shared: views, and what brokers keep for themselves."""
    names = set().union(*{member.profile.topics for member in members.values()})
    return {
        name: image.topics[name] for name in sorted(names & image.topics.keys()) if is_shared(name)
    }


def size_of(members: Collection[str], partitions: Assignment) -> int:
    return MEMBER_SIZE * len(members) + sum(map(len, partitions.values()))


def is_shared(topic: str) -> bool:
    return topic not in INTERNAL


def assignable(begun: begun_with.Begun, topics: Mapping[str, Topic]) -> dict[bytes, frozenset[int]]:
    """What members can be given of these: it is initialized, and still there."""
    found: dict[bytes, frozenset[int]] = {}
    for topic in topics.values():
        part = begun.initialized.get(topic.id)
        if part is not None:
            found[topic.id] = part.partitions.intersection(range(topic.record.partitions))
    return {topic_id: partitions for topic_id, partitions in found.items() if partitions}
