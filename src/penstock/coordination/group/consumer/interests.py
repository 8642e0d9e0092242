"""What the members of a group subscribe to, counted, and which of these topics are there.

A member may name ten thousand topics, so nobody goes through all names of a group: a member that
comes or goes costs its own names, a topic that comes or goes costs that one, and most names that
are in doubt are of no topic, and passed over without looking at them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import reduce
from hashlib import blake2b
from operator import xor
from struct import pack, unpack
from typing import NamedTuple

from penstock.metadata.cluster import Topic

Names = tuple[str, ...]


class Sized(NamedTuple):
    """A topic as it is at some time."""

    id: bytes
    partitions: int
    shown_id: bytes


class Interests:
    __slots__ = ("_doubtful", "_subscriptions", "hash", "names", "present", "users")

    def __init__(self) -> None:
        self.users: Counter[str] = Counter()
        """By topic: how many subscriptions name it, and how many expressions stand for it."""
        self.names = 0
        """In all different subscriptions together, which is what they take in memory."""
        self.present: dict[str, Sized] = {}
        """The topics that were there at the last look."""
        self.hash = 0
        """Of these."""
        self._subscriptions: dict[Names, tuple[Names, int]] = {}
        """How many members have each, and the one copy of it that they share."""
        self._doubtful: set[str] = set()
        """Names that may have come or gone since the last look."""

    # -- what members want

    def shared(self, names: Names) -> Names:
        """The copy that others have, so that the same subscription is the same object."""
        known = self._subscriptions.get(names)
        return names if known is None else known[0]

    def subscribe(self, names: Names) -> None:
        one, members = self._subscriptions.get(names, (names, 0))
        self._subscriptions[names] = one, members + 1
        if not members:
            self.names += len(names)
            self._add(names)

    def unsubscribe(self, names: Names) -> None:
        one, members = self._subscriptions.pop(names)
        if members > 1:
            self._subscriptions[one] = one, members - 1
        else:
            self.names -= len(names)
            self._drop(names)

    def names_after(self, before: Names, after: Names) -> int:
        """How many names there are once a member has changed its subscription."""
        if before == after:
            return self.names
        _, members = self._subscriptions.get(before, (before, 0))
        dropped = len(before) if members == 1 else 0
        return self.names - dropped + (0 if after in self._subscriptions else len(after))

    def match(self, before: frozenset[str], after: frozenset[str]) -> None:
        """An expression stands for other topics than before."""
        self._add(after - before)
        self._drop(before - after)

    def _add(self, names: Iterable[str]) -> None:
        self.users.update(names)
        self._doubtful.update(names)

    def _drop(self, names: Iterable[str]) -> None:
        users = self.users
        for name in names:
            users[name] -= 1
            if not users[name]:
                del users[name]
        self._doubtful.update(names)

    # -- what is there

    def doubt(self, names: Iterable[str]) -> None:
        """These topics may have come, gone or grown."""
        self._doubtful.update(names)

    def doubt_all(self, topics: Mapping[str, Topic]) -> None:
        self._doubtful.update(self.users.keys() & topics.keys(), self.present)

    def look(self, topics: Mapping[str, Topic]) -> int:
        """At what is in doubt, and say how many names that were. `topics`: all that are there.

        An intersection goes through the smaller side, so names of no topic cost next to nothing.
        """
        doubtful, self._doubtful = self._doubtful, set()
        found = (topics.keys() & doubtful) | (self.present.keys() & doubtful)
        for name in found:
            self._note(name, sized(topics[name]) if name in self.users and name in topics else None)
        return len(found)

    def _note(self, name: str, topic: Sized | None) -> None:
        before = self.present.pop(name, None)
        if before is not None:
            self.hash ^= _number(before)
        if topic is not None:
            self.present[name] = topic
            self.hash ^= _number(topic)


def sized(topic: Topic) -> Sized:
    return Sized(topic.id, topic.record.partitions, topic.shown_id)


def hash_of(topics: Iterable[Sized]) -> int:
    """Another number when a topic has come, gone, been made anew, or has another number of
    partitions. In whatever order, so that it can be kept up to date; 0 of none."""
    return reduce(xor, map(_number, topics), 0)


def _number(topic: Sized) -> int:
    digest = blake2b(topic.shown_id + pack(">i", topic.partitions), digest_size=8).digest()
    return int(unpack(">q", digest)[0])
