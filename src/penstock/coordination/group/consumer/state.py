"""A group of KIP-848, as it is in memory.

What can be counted is counted as members come and go, so that no heartbeat has to look at all of
them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.consumer.interests import Interests
from penstock.coordination.group.consumer.lookups import Lookups
from penstock.coordination.group.consumer.member import ConsumerMember, Holding, Place, Profile
from penstock.coordination.group.consumer.phases import MemberState
from penstock.coordination.group.consumer.reconciling import common, held

if TYPE_CHECKING:
    from penstock.coordination.group.consumer.downgrading import Returning
    from penstock.coordination.group.consumer.making import Making

K = TypeVar("K")


class Resolved(Struct, frozen=True):
    """The topics that a regular expression stands for, as of a revision of the cluster."""

    topics: frozenset[str]
    revision: int
    time_ms: int


class Consumer:
    __slots__ = (
        "assignor_votes",
        "classic_bytes",
        "classic_votes",
        "due_ms",
        "epoch",
        "interests",
        "lookups",
        "making",
        "members",
        "metadata_hash",
        "named",
        "natives",
        "owners",
        "rebalances",
        "refresh_ms",
        "regex_users",
        "regexes",
        "returning",
        "rivals",
        "sessions",
        "settled",
        "static",
        "target",
        "target_due_ms",
        "target_epoch",
    )

    def __init__(self) -> None:
        self.epoch = 0
        """Goes up whenever something changes that the target depends on."""
        self.metadata_hash = 0
        """Of the topics that the target was made for."""
        self.target_epoch = 0
        self.members: dict[str, ConsumerMember] = {}
        self.target: dict[str, Assignment] = {}
        """By member id, what each is to have."""
        self.regexes: dict[str, Resolved] = {}
        # Counted from these:
        self.static: dict[str, str] = {}
        """Ids of static members by their instance ids."""
        self.owners: dict[Place, str] = {}
        """Who has a partition, or has yet to give it up."""
        self.rivals: dict[Place, frozenset[str]] = {}
        """Who else may have it: some have come from a classic group, whose plan gave it twice."""
        self.interests = Interests()
        self.regex_users: Counter[str] = Counter()
        self.assignor_votes: Counter[str] = Counter()
        self.classic_votes: Counter[str] = Counter()
        """How many members of the classic protocol propose each assignor of theirs."""
        self.classic_bytes = 0
        """That those say of themselves, in all of these."""
        self.natives = 0
        """Members that are not of the classic protocol."""
        self.settled: Counter[int] = Counter()
        """Stable members by epoch."""
        # Not stored, and lost with the leader:
        self.sessions: dict[str, float] = {}
        """By when members must have shown that they are alive."""
        self.rebalances: dict[str, float] = {}
        """By when some must have done what they were told to: revoke, join again, sync."""
        self.named: dict[str, Assignment] = {}
        """What members said last that they have, of what they had been told by then."""
        self.due_ms = 0.0
        """None of these is due before that."""
        self.making: Making | None = None
        """The target of a large group, on its way."""
        self.target_due_ms = 0.0
        """Before that, no new target is made."""
        self.refresh_ms = 0.0
        """When the topics are to be looked at, even if nobody says that they have changed."""
        self.lookups = Lookups()
        """Of what expressions stand for."""
        self.returning: Returning | None = None
        """What it becomes when only classic members are left, on its way."""

    @property
    def is_blank(self) -> bool:
        return not (self.members or self.epoch or self.target_epoch or self.regexes)

    @property
    def is_assigning(self) -> bool:
        return self.epoch > self.target_epoch

    @property
    def planned_epoch(self) -> int:
        """Of the target that is there, or is being made: what changes now comes too late for it."""
        return self.making.epoch if self.making is not None else self.target_epoch

    @property
    def planned_hash(self) -> int:
        return self.making.metadata_hash if self.making is not None else self.metadata_hash

    def put(self, member: ConsumerMember) -> None:
        before = self.members.get(member.id)
        if before is None or before.profile is not member.profile:
            self._subscribe(before, member)
            if before is not None:
                self._count(before.profile, -1)
                self._unname(before)
            self._count(member.profile, 1)
            if member.instance_id is not None:
                self.static[member.instance_id] = member.id
        if before is None or before.holding is not member.holding:
            if before is not None:
                self._release(before)
            self._hold(member)
        self.members[member.id] = member

    def remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None:
            self.interests.unsubscribe(member.profile.topics)
            self._count(member.profile, -1)
            self._unname(member)
            self._release(member)
        self.sessions.pop(member_id, None)
        self.rebalances.pop(member_id, None)
        self.named.pop(member_id, None)

    def _subscribe(self, before: ConsumerMember | None, member: ConsumerMember) -> None:
        """The new before the old, as they mostly have the same names."""
        self.interests.subscribe(member.profile.topics)
        if before is not None:
            self.interests.unsubscribe(before.profile.topics)

    def _unname(self, member: ConsumerMember) -> None:
        instance_id = member.instance_id
        if instance_id is not None and self.static.get(instance_id) == member.id:
            del self.static[instance_id]

    def resolve(self, text: str, resolved: Resolved | None) -> None:
        """What an expression stands for from now on; None if nobody uses it any more."""
        before = self.regexes.pop(text, None)
        if resolved is not None:
            self.regexes[text] = resolved
        self.interests.match(
            before.topics if before else frozenset(), resolved.topics if resolved else frozenset()
        )

    def _count(self, profile: Profile, step: int) -> None:
        if profile.regex:
            _add(self.regex_users, profile.regex, step)
        if profile.assignor:
            _add(self.assignor_votes, profile.assignor, step)
        if profile.classic is None:
            self.natives += step
        else:
            for name, metadata in profile.classic.protocols:
                _add(self.classic_votes, name, step)
                self.classic_bytes += step * len(metadata)

    def hear(self, member_id: str, before: Holding, owned: Assignment | None) -> None:
        """A member names what it has. What it is only told now it cannot have taken up."""
        if owned is not None:
            self.named[member_id] = common(owned, held(before))

    def holders(self, place: Place) -> frozenset[str]:
        """All who have a partition, or may have it."""
        owner = self.owners.get(place)
        return frozenset() if owner is None else self.rivals.get(place, frozenset()) | {owner}

    def claim(self, member_id: str, holding: Holding) -> None:
        for place in holding.places():
            if self.owners.setdefault(place, member_id) != member_id:
                self.rivals[place] = self.rivals.get(place, frozenset()) | {member_id}

    def _hold(self, member: ConsumerMember) -> None:
        self.claim(member.id, member.holding)
        if member.holding.state is MemberState.STABLE:
            _add(self.settled, member.epoch, 1)

    def _release(self, member: ConsumerMember) -> None:
        for place in member.holding.places():
            if place in self.rivals:
                self._give_to_rival(place, member.id)
            elif self.owners.get(place) == member.id:
                del self.owners[place]
        if member.holding.state is MemberState.STABLE:
            _add(self.settled, member.epoch, -1)

    def _give_to_rival(self, place: Place, member_id: str) -> None:
        owner, *others = sorted(self.holders(place) - {member_id})
        self.owners[place] = owner
        self.rivals[place] = frozenset(others)
        if not others:
            del self.rivals[place]


def _add(counts: Counter[K], key: K, step: int) -> None:
    """What nobody has is left out."""
    left = counts[key] + step
    if left:
        counts[key] = left
    else:
        del counts[key]
