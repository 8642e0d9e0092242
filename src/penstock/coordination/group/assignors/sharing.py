"""The assignor of share groups: every partition has a member, and every member has a partition.

In two steps. First every partition goes to one member, evenly, as if none could be shared. Who has
got nothing then, because there are more members than partitions, shares a partition with others:
as many in each as in any other, and where it was before if that can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from penstock.coordination.group.assignors.balance import Share, balance
from penstock.coordination.group.assignors.pools import in_order
from penstock.coordination.group.assignors.spec import Assignment, Subscriber, at_once
from penstock.coordination.group.assignors.uniform import assign_uniform

Place = tuple[bytes, int]
"""A topic by its id, and a partition of it."""


def assign_shared(
    subscribers: Sequence[Subscriber], partitions: Assignment
) -> dict[str, Assignment]:
    """`partitions`: those that can be given. Every member is in the answer."""
    target = _one_each(subscribers, partitions)
    idle = [each for each in in_order(subscribers) if not target[each.member_id]]
    for member_id, (topic, partition) in _shared_places(idle, partitions).items():
        target[member_id] = {topic: frozenset({partition})}
    return target


def _one_each(subscribers: Sequence[Subscriber], partitions: Assignment) -> dict[str, Assignment]:
    """To the other assignor partitions are numbers from 0 on: where some are missing, those that
    are there are counted."""
    listed = {topic: sorted(numbers) for topic, numbers in partitions.items()}
    counts = {topic: len(numbers) for topic, numbers in listed.items()}
    if all(numbers[-1:] == [len(numbers) - 1] for numbers in listed.values()):
        return at_once(assign_uniform(subscribers, counts))
    positions = {
        topic: {number: at for at, number in enumerate(numbers)}
        for topic, numbers in listed.items()
    }
    counted = [
        Subscriber(
            each.member_id, each.instance_id, each.topics, _counted(each.assigned, positions)
        )
        for each in subscribers
    ]
    made = at_once(assign_uniform(counted, counts))
    return {
        member_id: {
            topic: frozenset(listed[topic][at] for at in ats) for topic, ats in part.items()
        }
        for member_id, part in made.items()
    }


def _counted(assigned: Assignment, positions: Mapping[bytes, Mapping[int, int]]) -> Assignment:
    return {
        topic: frozenset(positions[topic][each] for each in numbers if each in positions[topic])
        for topic, numbers in assigned.items()
        if topic in positions
    }


def _shared_places(idle: Iterable[Subscriber], partitions: Assignment) -> dict[str, Place]:
    """Where each of those without a partition of its own goes. Members are to partitions here what
    partitions are to members elsewhere: those who subscribe to the same are a pool, and how many of
    them each partition gets is settled before who it is."""
    pools: dict[frozenset[bytes], list[Subscriber]] = {}
    for member in idle:
        topics = member.topics.intersection(partitions)
        if topics:
            pools.setdefault(topics, []).append(member)
    every = [
        (topic, number) for topic in sorted(partitions) for number in sorted(partitions[topic])
    ]
    kept = [
        {each.member_id: _kept(each, topics, partitions) for each in members}
        for topics, members in pools.items()
    ]
    shares = [
        _share(topics, every, held.values()) for topics, held in zip(pools, kept, strict=True)
    ]
    found: dict[str, Place] = {}
    for held, counts in zip(kept, at_once(balance(shares)), strict=True):
        found |= _placed(held, {every[number]: count for number, count in counts.items()})
    return found


def _kept(member: Subscriber, topics: frozenset[bytes], partitions: Assignment) -> Place | None:
    """Where it was."""
    for topic in sorted(topics.intersection(member.assigned)):
        there = member.assigned[topic] & partitions[topic]
        if there:
            return topic, min(there)
    return None


def _share(topics: frozenset[bytes], every: Sequence[Place], held: Iterable[Place | None]) -> Share:
    numbers = {place: number for number, place in enumerate(every) if place[0] in topics}
    counts = dict.fromkeys(numbers.values(), 0)
    free = 0
    for place in held:
        if place is None:
            free += 1
        else:
            counts[numbers[place]] += 1
    return Share(counts, free)


def _placed(held: Mapping[str, Place | None], counts: Mapping[Place, int]) -> dict[str, Place]:
    """As many to each place as it is to get; who is there stays, as long as there is room."""
    room = dict(counts)
    found: dict[str, Place] = {}
    for member_id, place in held.items():
        if place is not None and room[place]:
            room[place] -= 1
            found[member_id] = place
    left = (place for place, count in room.items() for _ in range(count))
    return found | {each: next(left) for each in held if each not in found}
