"""The range assignor: each topic is cut into runs of partitions, one for each of its subscribers.

Topics with the same number of partitions and the same subscribers are cut alike, so a member gets
the same numbers of each and can join them. Nothing is kept for being held already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.coordination.group.assignors.pools import in_order, pools
from penstock.coordination.group.assignors.spec import Assignment, Subscriber
from penstock.coordination.pace import Pace
from penstock.log.steps import Steps


def assign_ranges(
    subscribers: Sequence[Subscriber], partitions: Mapping[bytes, int]
) -> Steps[dict[str, Assignment]]:
    members = in_order(subscribers)
    shares: list[dict[bytes, frozenset[int]]] = [{} for _ in members]
    yield None
    pace = Pace()
    parts = yield from pools(members, partitions)
    for pool in parts:
        for topic in pool.topics:
            runs = _cut(partitions[topic], len(pool.members))
            for number, run in zip(pool.members, runs, strict=False):
                shares[number][topic] = run
            if pace.is_spent(1 + partitions[topic]):
                yield None
    return {member.member_id: share for member, share in zip(members, shares, strict=True)}


def _cut(partitions: int, members: int) -> Iterator[frozenset[int]]:
    """Runs that are not empty, so there may be fewer of them than members; longer ones first."""
    size, longer = divmod(partitions, members)
    start = 0
    while start < partitions:
        end = start + size + (longer > 0)
        yield frozenset(range(start, end))
        start, longer = end, longer - 1
