"""The uniform assignor: as many partitions for each member as for any other, and few that move.

First it is settled how many partitions of each pool everyone gets (`balance`), and only then which
ones. So a member keeps all it has but for what is too much, whatever way the numbers went.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from penstock.coordination.group.assignors.balance import Share, balance
from penstock.coordination.group.assignors.pools import Pool, in_order, pools
from penstock.coordination.group.assignors.spec import (
    MEMBER_COST,
    Assignment,
    Subscriber,
)
from penstock.coordination.pace import Pace
from penstock.log.steps import Steps

NOBODY = -1
Owners = Mapping[bytes, list[int]]
"""By topic and partition: the number of the member who has it, or NOBODY."""


def assign_uniform(
    subscribers: Sequence[Subscriber], partitions: Mapping[bytes, int]
) -> Steps[dict[str, Assignment]]:
    pace = Pace()
    members = in_order(subscribers)
    yield None
    parts = yield from pools(members, partitions)
    yield None
    owners = yield from _held(members, parts, partitions, pace)
    shares: list[Share] = []
    for pool in parts:
        shares.append(_share(pool, owners))
        if pace.is_spent(_cost(pool, owners)):
            yield None
    balanced = yield from balance(shares)
    yield None
    for pool, share, counts in zip(parts, shares, balanced, strict=True):
        change = {member: counts[member] - held for member, held in share.counts.items()}
        _give_up(pool, owners, {member: -more for member, more in change.items() if more < 0})
        _hand_out(pool, owners, {member: more for member, more in change.items() if more > 0})
        if pace.is_spent(2 * _cost(pool, owners)):
            yield None
    yield None
    return (yield from _by_member(members, owners, pace))


def _cost(pool: Pool, owners: Owners) -> int:
    """Of going through a pool, in names of topics."""
    return len(pool.members) + sum(len(owners[topic]) for topic in pool.topics)


def _held(
    members: Sequence[Subscriber],
    parts: Sequence[Pool],
    partitions: Mapping[bytes, int],
    pace: Pace,
) -> Steps[Owners]:
    """What members may keep: it exists, they subscribe to it, and nobody before them has it."""
    owners = {topic: [NOBODY] * partitions[topic] for pool in parts for topic in pool.topics}
    yield None
    for number, member in enumerate(members):
        for topic in member.topics.intersection(member.assigned):
            owned = owners.get(topic, [])
            for partition in member.assigned[topic]:
                if 0 <= partition < len(owned) and owned[partition] == NOBODY:
                    owned[partition] = number
        if pace.is_spent(MEMBER_COST + sum(map(len, member.assigned.values()))):
            yield None
    return owners


def _share(pool: Pool, owners: Owners) -> Share:
    counts = dict.fromkeys(pool.members, 0)
    free = 0
    for topic in pool.topics:
        for owner in owners[topic]:
            if owner == NOBODY:
                free += 1
            else:
                counts[owner] += 1
    return Share(counts, free)


def _give_up(pool: Pool, owners: Owners, surplus: Mapping[int, int]) -> None:
    """Those with the highest numbers go, of whichever topics, so that no topic goes as a whole."""
    held: dict[int, list[tuple[int, bytes]]] = {member: [] for member in surplus}
    for topic in pool.topics:
        for partition, owner in enumerate(owners[topic]):
            if owner in held:
                held[owner].append((partition, topic))
    for member, partitions in held.items():
        for partition, topic in sorted(partitions)[-surplus[member] :]:
            owners[topic][partition] = NOBODY


def _hand_out(pool: Pool, owners: Owners, wanted: Mapping[int, int]) -> None:
    """One to each in turn, so that the partitions of a topic are spread."""
    line = deque(wanted.items())
    for topic in pool.topics:
        owned = owners[topic]
        for partition, owner in enumerate(owned):
            if owner == NOBODY:
                taker, more = line.popleft()
                owned[partition] = taker
                if more > 1:
                    line.append((taker, more - 1))


def _by_member(
    members: Sequence[Subscriber], owners: Owners, pace: Pace
) -> Steps[dict[str, Assignment]]:
    found: list[dict[bytes, list[int]]] = [{} for _ in members]
    for topic, owned in owners.items():
        for partition, owner in enumerate(owned):
            found[owner].setdefault(topic, []).append(partition)
        if pace.is_spent(1 + len(owned)):
            yield None
    shares: dict[str, Assignment] = {}
    for number, member in enumerate(members):
        shares[member.member_id] = {
            topic: frozenset(partitions) for topic, partitions in found[number].items()
        }
        if pace.is_spent(MEMBER_COST + len(found[number])):
            yield None
    return shares
