"""Which of some topics the members of groups read, found out a slice at a time.

A member of the classic protocol may name tens of thousands of topics, and a group of KIP-848 may
have thousands of expressions. So this is found out ahead of the turn that rests on it, with pauses;
whatever has come up meanwhile is looked at too, before the turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.classic.subscriptions import Topics, subscriptions, topics_of
from penstock.coordination.group.groups import Group
from penstock.coordination.group.share.state import ShareGroup
from penstock.coordination.pace import Pace

Source = bytes | frozenset[str]
"""What a classic member says, or the topics that an expression stands for."""


class Readers:
    def __init__(self, topics: Iterable[str], pace: Pace) -> None:
        self.topics = frozenset(topics)
        self._pace = pace
        self._read: dict[Source, Topics] = {}
        """Which of the topics are in a source."""

    def look(self, group: Group) -> Iterator[None]:
        """Whatever was not looked at yet. Between its last step and its end nothing happens."""
        while new := [each for each in _sources(group) if each not in self._read]:
            for source in new:
                if self._pace.is_spent(self._look_at(source)):
                    yield

    def _look_at(self, source: Source) -> int:
        """What that has cost."""
        topics = topics_of(source) if isinstance(source, bytes) else source
        self._read[source] = None if topics is None else self.topics & topics
        return 1 + len(topics or ())

    def _found(self, group: Group) -> list[Topics]:
        for _ in self.look(group):
            pass  # mostly nothing is left to be looked at
        return [self._read[each] for each in _sources(group)]

    def read(self, group: Group) -> frozenset[str]:
        """Those that a member is known to read."""
        found = self._found(group)
        return self._named(group).union(*(each for each in found if each is not None))

    def may_be_read(self, group: Group) -> frozenset[str]:
        """The same with the doubt on the other side: who has not said what it reads may read any
        of them."""
        return self.topics if None in self._found(group) else self.read(group)

    def _named(self, group: Group) -> frozenset[str]:
        """By members of KIP-848, who are counted by topic, and of share groups, who are few."""
        if isinstance(group.body, Classic):
            return frozenset()
        if isinstance(group.body, ShareGroup):
            return frozenset(filter(group.body.reads, self.topics))
        users = group.body.interests.users
        return frozenset(name for name in self.topics if name in users)


def _sources(group: Group) -> set[Source]:
    if isinstance(group.body, Classic):
        return set(subscriptions(group.body))
    if isinstance(group.body, ShareGroup):
        return set()
    return {each.topics for each in group.body.regexes.values()}
