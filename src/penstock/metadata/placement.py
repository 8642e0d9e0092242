"""Which brokers hold the replicas of which partition: evenly, and apart from each other by rack.

The brokers stand in a ring in which neighbours are in different racks, as far as there are enough.
A partition's leader is the next in the ring, its followers come after the leader at a distance
that grows with each turn, so that the partitions of one leader have their followers everywhere.
Where in the ring a topic begins is drawn from its id, among some places the one where brokers hold
least: so what is new goes by and by to those that have least, and yet not all of it to one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from penstock.metadata.image import Image

Replicas = tuple[int, ...]
DRAINING = "broker.draining"
"""The setting of a broker that is to be given nothing more."""
_DRAWN_BYTES = 4


def open_racks(image: Image) -> dict[int, str]:
    """The brokers that may be given replicas, by id, with the rack each stands in.

    Where no rack is said, a host is one: what takes it down takes all its brokers down.
    """
    return {
        number: _rack(image, number)
        for number in sorted(image.brokers)
        if not drains(image, number)
    }


def _rack(image: Image, number: int) -> str:
    record = image.brokers[number].record
    return record.rack or f"host {record.host}"


def drains(image: Image, number: int) -> bool:
    held = image.settings.broker_config(number)
    return held is not None and held.record.configs.get(DRAINING, "").strip().lower() in _TRUE


_TRUE = frozenset({"true", "yes", "1"})


def place_new(
    topic_id: bytes,
    first: int,
    count: int,
    replication: int,
    racks: Mapping[int, str],
    held: Mapping[int, int],
) -> list[Replicas]:
    """Replicas for `count` partitions of a topic; `held` is how much each broker has already."""
    draws = range(0, len(topic_id), _DRAWN_BYTES)
    starts = [int.from_bytes(topic_id[at : at + _DRAWN_BYTES], "big") for at in draws]
    uneven = count % len(racks)
    """Of whole turns everyone gets as much, wherever they begin."""

    def weight(start: int) -> int:
        placed = place(first, uneven, replication, racks, start)
        return sum(held.get(broker, 0) for replicas in placed for broker in replicas)

    start = min(starts, key=weight) if uneven else starts[0]
    return place(first, count, replication, racks, start)


def widened(
    replicas: Replicas, count: int, racks: Mapping[int, str], held: Mapping[int, int]
) -> Replicas:
    """As many brokers more as it takes to be `count`, as far as there are any: in racks that are
    not among them yet, and of these the one that holds least."""
    chosen = list(replicas)
    while len(chosen) < count:
        used = {racks.get(broker) for broker in chosen}
        others = [broker for broker in racks if broker not in chosen]
        if not others:
            break
        chosen.append(min(others, key=lambda each: (racks[each] in used, held.get(each, 0), each)))
    return tuple(chosen)


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
