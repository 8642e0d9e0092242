"""The assignor of share groups: members have partitions together, as many as they can take well.

In a queue the next job goes to whoever is free. So every member has every partition of its topics,
up to a number that is cheap to look at with each fetch; beyond that, members have stretches of the
partitions that overlap, so that at least two have each. Nobody has to wait for the session of one
that has died, and nothing waits for one that is slow while others have nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from penstock.coordination.group.assignors.spec import Assignment, Subscriber

ALL_UP_TO = 20
"""Partitions of a topic that all its members have."""
AT_LEAST = 2
"""Members that have a partition, if there are as many."""


class Lots:
    """Which partitions each member is to have. It does not matter who has what by now: nothing is
    handed over where several may have the same. What is needed for it is found out once, and the
    part of a member when it is asked for: all of them take long."""

    def __init__(self, subscribers: Iterable[Subscriber], partitions: Assignment) -> None:
        """`partitions`: those that can be given."""
        self._wanted = {each.member_id: each.topics for each in subscribers}
        self._partitions = partitions
        self._kinds = set(self._wanted.values())
        self._ranks: dict[frozenset[frozenset[bytes]], Mapping[str, int]] = {}
        self._lots: dict[bytes, _Lot] = {}

    def part_of(self, member_id: str) -> Assignment:
        wanted = self._wanted[member_id] & self._partitions.keys()
        lots = {topic: self._lot(topic) for topic in sorted(wanted) if self._partitions[topic]}
        return {topic: lot.stretch_of(member_id) for topic, lot in lots.items()}

    def _lot(self, topic: bytes) -> _Lot:
        if topic not in self._lots:
            self._lots[topic] = _lot(sorted(self._partitions[topic]), self._ranked(topic))
        return self._lots[topic]

    def _ranked(self, topic: bytes) -> Mapping[str, int]:
        """Those who want it, by their place among each other; most topics have the same."""
        kinds = frozenset(kind for kind in self._kinds if topic in kind)
        if kinds not in self._ranks:
            members = sorted(each for each, wanted in self._wanted.items() if wanted in kinds)
            self._ranks[kinds] = {member_id: rank for rank, member_id in enumerate(members)}
        return self._ranks[kinds]


class _Lot(NamedTuple):
    """Stretches of one topic begin as far from each other as can be, and the last ones go on at the
    beginning."""

    ranks: Mapping[str, int]
    twice: Sequence[int]
    length: int
    whole: frozenset[int] | None
    """What all have, if it is everything."""

    def stretch_of(self, member_id: str) -> frozenset[int]:
        if self.whole is not None:
            return self.whole
        start = self.ranks[member_id] * (len(self.twice) // 2) // len(self.ranks)
        return frozenset(self.twice[start : start + self.length])


def _lot(numbers: Sequence[int], ranks: Mapping[str, int]) -> _Lot:
    count = len(numbers)
    needed = -(-AT_LEAST * count // len(ranks))
    length = min(count, max(ALL_UP_TO, needed))
    whole = frozenset(numbers) if length == count else None
    return _Lot(ranks, [*numbers, *numbers], length, whole)


def assign_shared(
    subscribers: Sequence[Subscriber], partitions: Assignment
) -> dict[str, Assignment]:
    """Of all, at once. Every member is in the answer."""
    lots = Lots(subscribers, partitions)
    return {each.member_id: lots.part_of(each.member_id) for each in subscribers}
