"""A share group, as it is in memory.

It is as small as it looks: no member waits for another to give something up, none is static, and
there are few of them. So a target is made whenever something changes, and mostly all of it at once.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from msgspec import Struct

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.share.begun import Begun

if TYPE_CHECKING:
    from penstock.coordination.group.share.making import Making

Names = tuple[str, ...]


class Profile(Struct, frozen=True, gc=False):
    """What a member says of itself."""

    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: Names = ()
    """Sorted, each once."""

    def names(self, topic: str) -> bool:
        at = bisect_left(self.topics, topic)
        return at < len(self.topics) and self.topics[at] == topic


class Holding(Struct, frozen=True, gc=False):
    """What a member was told last."""

    epoch: int = 0
    previous_epoch: int = 0
    assigned: Assignment = {}


class ShareMember(Struct, frozen=True, gc=False):
    id: str
    profile: Profile = Profile()
    holding: Holding = Holding()

    @property
    def epoch(self) -> int:
        return self.holding.epoch


class ShareGroup:
    __slots__ = (
        "_subscriptions",
        "begun",
        "due_ms",
        "epoch",
        "has_been_told",
        "making",
        "members",
        "metadata_hash",
        "names",
        "sessions",
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
        """That the target is for; behind the other one while a large group has its target made."""
        self.members: dict[str, ShareMember] = {}
        self.target: dict[str, Assignment] = {}
        """By member id, what each is to have."""
        self.begun = Begun()
        # Counted from these:
        self.names = 0
        """Of topics in all different subscriptions, which is what they take in memory."""
        self._subscriptions: dict[Names, tuple[Names, int]] = {}
        """How many members have each, and the one copy of it that they share."""
        # Not stored, and lost with the leader:
        self.sessions: dict[str, float] = {}
        """By when members must have shown that they are alive."""
        self.due_ms = 0.0
        """None of these is due before that."""
        self.has_been_told = False
        """Of topics that have changed, since this coordinator was loaded."""
        self.making: Making | None = None
        """A target on its way."""
        self.target_due_ms = 0.0
        """When the next may be made."""

    @property
    def is_blank(self) -> bool:
        return not (self.members or self.epoch or self.target_epoch) and self.begun.is_blank

    @property
    def is_ending(self) -> bool:
        """The group itself is deleted, and some of its shares have yet to go."""
        return not (self.members or self.epoch) and bool(self.begun.deleting)

    def put(self, member: ShareMember) -> None:
        before = self.members.get(member.id)
        self._subscribe(member.profile.topics)
        if before is not None:
            self._unsubscribe(before.profile.topics)
        self.members[member.id] = member

    def remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None:
            self._unsubscribe(member.profile.topics)
        self.sessions.pop(member_id, None)

    # -- what members subscribe to

    def shared(self, names: Names) -> Names:
        """The copy that others have."""
        known = self._subscriptions.get(names)
        return names if known is None else known[0]

    def reads(self, topic: str) -> bool:
        return any(Profile(topics=names).names(topic) for names in self._subscriptions)

    def names_after(self, before: Names, after: Names) -> int:
        """How many names there are once a member has changed its subscription."""
        if before == after or after in self._subscriptions:
            return self.names
        _, members = self._subscriptions.get(before, (before, 0))
        return self.names + len(after) - (len(before) if members == 1 else 0)

    def _subscribe(self, names: Names) -> None:
        one, members = self._subscriptions.get(names, (names, 0))
        self._subscriptions[one] = one, members + 1
        self.names += 0 if members else len(names)

    def _unsubscribe(self, names: Names) -> None:
        one, members = self._subscriptions.pop(names)
        if members > 1:
            self._subscriptions[one] = one, members - 1
        else:
            self.names -= len(names)


def share_topics(body: ShareGroup) -> Assignment:
    """Topics, by their ids that stay the same, and the partitions of which the group has shares."""
    return body.begun.assignable
