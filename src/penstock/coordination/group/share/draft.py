"""A share group as it will be once this turn's events are applied, while they are thought out.

A decision must not change the group itself. It lays what it changes over the group here, settles
what follows from that, and in the end writes what differs.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from penstock.coordination.group.assignors import Assignment, Subscriber
from penstock.coordination.group.assignors.sharing import assign_shared
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

SIZE_COST = 3
"""Of each member and each partition that is shared out, in the unit of `Pace`."""


class Draft:
    def __init__(self, turn: Turn, name: str, body: ShareGroup) -> None:
        self.turn = turn
        self.name = name
        self.body = body
        self.epoch = body.epoch
        self.metadata_hash = body.metadata_hash
        self.begun = body.begun
        self.members = dict(body.members)
        self.target = body.target

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
            self.target = self._shared_out(topics)

    def _shared_out(self, topics: Mapping[str, Topic]) -> dict[str, Assignment]:
        partitions = assignable(self.begun, topics)
        ids: dict[Names, frozenset[bytes]] = {}
        for member in self.members.values():
            names = member.profile.topics
            if names not in ids:
                ids[names] = frozenset(topics[each].id for each in names if each in topics)
        subscribers = [
            Subscriber(each.id, None, ids[each.profile.topics], self.body.target.get(each.id, {}))
            for each in self.members.values()
        ]
        size = len(subscribers) + sum(map(len, partitions.values()))
        self.turn.spend(SIZE_COST * size)
        return assign_shared(subscribers, partitions)

    def bring_up(self, member: ShareMember) -> ShareMember:
        """A member that is here is told what it is to have, and has it from then on."""
        told, assigned = member.holding, self.target.get(member.id, {})
        if told.epoch != self.epoch:
            holding = Holding(self.epoch, told.epoch, assigned)
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
        if self.epoch != body.target_epoch:
            turn.write(TargetEpochKey(name), TargetEpochValue(self.epoch))
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
