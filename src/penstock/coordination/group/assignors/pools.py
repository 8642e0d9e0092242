"""Topics with the same subscribers form a pool: any partition of it may go to any of its members.

A group whose members all subscribe to the same topics has one pool. Members are numbered here by
their place in `in_order`, which is faster to compare than their ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.coordination.group.assignors.spec import Subscriber
from penstock.coordination.pace import Pace
from penstock.log.steps import Steps

COPIED_A_NAME = 10
"""Numbers that are copied and compared, at the cost of a name."""


@dataclass(frozen=True, slots=True)
class Pool:
    topics: Sequence[bytes]
    """Sorted."""
    members: Sequence[int]
    """Ascending, and at least one."""


def in_order(members: Iterable[Subscriber]) -> list[Subscriber]:
    """Static members come first, so that others who come and go do not shift them."""
    return sorted(members, key=_place)


def _place(member: Subscriber) -> tuple[bool, str, str]:
    return member.instance_id is None, member.instance_id or "", member.member_id


def pools(members: Sequence[Subscriber], partitions: Mapping[bytes, int]) -> Steps[list[Pool]]:
    """The pools of a group, those with the fewest members first: they have the least choice."""
    pace = Pace()
    alike: dict[frozenset[bytes], list[int]] = {}
    for number, member in enumerate(members):
        alike.setdefault(member.topics, []).append(number)
    yield None
    kinds = list(alike.values())
    by_kinds = yield from _topics_by_kinds(alike, partitions, pace)
    found: list[Pool] = []
    for chosen, topics in by_kinds.items():
        numbers = sorted(number for kind in chosen for number in kinds[kind])
        found.append(Pool(sorted(topics), numbers))
        if pace.is_spent(len(topics) + len(numbers)):
            yield None
    return sorted(found, key=lambda pool: (len(pool.members), pool.topics[0]))


def _topics_by_kinds(
    subscriptions: Iterable[frozenset[bytes]], partitions: Mapping[bytes, int], pace: Pace
) -> Steps[dict[tuple[int, ...], list[bytes]]]:
    """Members with one subscription are a kind. Groups have few, so this is fast for many."""
    kinds_by_topic: dict[bytes, list[int]] = {}
    for kind, topics in enumerate(subscriptions):
        for topic in topics:
            if topic in partitions:
                kinds_by_topic.setdefault(topic, []).append(kind)
        if pace.is_spent(len(topics)):
            yield None
    found: dict[tuple[int, ...], list[bytes]] = {}
    for topic, kinds in kinds_by_topic.items():
        found.setdefault(tuple(kinds), []).append(topic)
        if pace.is_spent(1 + len(kinds) // COPIED_A_NAME):
            yield None
    return found
