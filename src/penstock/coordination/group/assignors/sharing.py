"""The assignor of share groups: members have partitions together, as many as they can take well.

In a queue the next job goes to whoever is free. So every member has every partition of its topics,
up to a number that is cheap to look at with each fetch; beyond that, members have stretches of the
partitions that overlap, so that at least two have each. Nobody has to wait for the session of one
that has died, and nothing waits for one that is slow while others have nothing to do.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.coordination.group.assignors.spec import Assignment, Subscriber

ALL_UP_TO = 20
"""Partitions of a topic that all its members have."""
AT_LEAST = 2
"""Members that have a partition, if there are as many."""


def assign_shared(
    subscribers: Sequence[Subscriber], partitions: Assignment
) -> dict[str, Assignment]:
    """`partitions`: those that can be given. Every member is in the answer. It does not matter who
    has what by now: nothing is handed over where several may have the same."""
    target: dict[str, dict[bytes, frozenset[int]]] = {each.member_id: {} for each in subscribers}
    for topic in sorted(partitions):
        members = sorted(each.member_id for each in subscribers if topic in each.topics)
        numbers = sorted(partitions[topic])
        if members and numbers:
            for member_id, stretch in zip(members, _stretches(numbers, len(members)), strict=True):
                target[member_id][topic] = stretch
    return dict(target)


def _stretches(numbers: Sequence[int], members: int) -> list[frozenset[int]]:
    """They begin as far from each other as can be, and the last ones go on at the beginning."""
    count = len(numbers)
    needed = -(-AT_LEAST * count // members)
    length = min(count, max(ALL_UP_TO, needed))
    if length == count:
        return [frozenset(numbers)] * members
    twice = [*numbers, *numbers]
    starts = (member * count // members for member in range(members))
    return [frozenset(twice[start : start + length]) for start in starts]
