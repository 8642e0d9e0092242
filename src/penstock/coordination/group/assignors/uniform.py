"""The uniform assignor: as many partitions for each member as for any other, and few that move.

First it is settled how many partitions of each pool everyone gets (`balance`), and only then which
ones. So a member keeps all it has but for what is too much, whatever way the numbers went.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from penstock.coordination.group.assignors.balance import Share, balance
from penstock.coordination.group.assignors.pools import Pool, in_order, pools
from penstock.coordination.group.assignors.spec import Assignment, Subscriber

NOBODY = -1
Owners = Mapping[bytes, list[int]]
"""By topic and partition: the number of the member who has it, or NOBODY."""


def assign_uniform(
    subscribers: Sequence[Subscriber], partitions: Mapping[bytes, int]
) -> dict[str, Assignment]:
    members = in_order(subscribers)
    parts = pools(members, partitions)
    owners = _held(members, parts, partitions)
    shares = [_share(pool, owners) for pool in parts]
    for pool, share, counts in zip(parts, shares, balance(shares), strict=True):
        change = {member: counts[member] - held for member, held in share.counts.items()}
        _give_up(pool, owners, {member: -more for member, more in change.items() if more < 0})
        _hand_out(pool, owners, {member: more for member, more in change.items() if more > 0})
    return _by_member(members, owners)


def _held(
    members: Sequence[Subscriber], parts: Sequence[Pool], partitions: Mapping[bytes, int]
) -> Owners:
    """What members may keep: it exists, they subscribe to it, and nobody before them has it."""
    owners = {topic: [NOBODY] * partitions[topic] for pool in parts for topic in pool.topics}
    for number, member in enumerate(members):
        for topic in member.assigned.keys() & member.topics & owners.keys():
            owned = owners[topic]
            for partition in member.assigned[topic]:
                if 0 <= partition < len(owned) and owned[partition] == NOBODY:
                    owned[partition] = number
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


def _by_member(members: Sequence[Subscriber], owners: Owners) -> dict[str, Assignment]:
    found: list[dict[bytes, list[int]]] = [{} for _ in members]
    for topic, owned in owners.items():
        for partition, owner in enumerate(owned):
            found[owner].setdefault(topic, []).append(partition)
    return {
        member.member_id: {topic: frozenset(numbers) for topic, numbers in share.items()}
        for member, share in zip(members, found, strict=True)
    }
