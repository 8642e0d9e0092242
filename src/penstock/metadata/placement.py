"""Which brokers hold the replicas of which partition: evenly, and apart from each other by rack.

The brokers stand in a ring in which neighbours are in different racks, as far as there are enough.
A partition's leader is the next in the ring, its followers come after the leader at a distance
that grows with each turn, so that the partitions of one leader have their followers everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

Replicas = tuple[int, ...]


def place(
    first: int, count: int, replication: int, racks: Mapping[int, str], start: int
) -> list[Replicas]:
    """Replicas for `count` partitions from `first` on, leaders first.

    `start` says where in the ring partition 0 begins; one that differs from topic to topic keeps
    many small topics from sharing a leader.
    """
    ring = _ring(racks)
    size = len(ring)
    known: dict[tuple[int, int], Replicas] = {}
    placed = []
    for index in range(first, first + count):
        leader = (start + index) % size
        shift = (start + index // size) % max(size - 1, 1)
        if (leader, shift) not in known:
            known[leader, shift] = _replicas(ring, racks, leader, shift, replication)
        placed.append(known[leader, shift])
    return placed


def _ring(racks: Mapping[int, str]) -> Sequence[int]:
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker], []).append(broker)
    turns = zip_longest(*(by_rack[rack] for rack in sorted(by_rack)))
    return [broker for turn in turns for broker in turn if broker is not None]


def _replicas(
    ring: Sequence[int], racks: Mapping[int, str], leader: int, shift: int, replication: int
) -> Replicas:
    size = len(ring)
    chosen = [ring[leader]]
    waiting = [ring[(leader + 1 + (shift + step) % (size - 1)) % size] for step in range(size - 1)]
    while len(chosen) < replication:
        used = {racks[broker] for broker in chosen}
        apart = [broker for broker in waiting if racks[broker] not in used]
        chosen.append((apart or waiting)[0])
        waiting.remove(chosen[-1])
    return tuple(chosen)
