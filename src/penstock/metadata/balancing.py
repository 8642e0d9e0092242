"""Plans for moving replicas: off a broker that is to go, or so that all brokers hold as many.

What is moved must be copied, so as little is moved as it takes. Nothing here looks at how large
partitions are: with many of them it evens out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from penstock.metadata.placement import Replicas, widened

Named = tuple[str, int]
"""A partition, by its topic's name and its index."""
Assignment = Mapping[Named, Replicas]


def off_broker(
    assignment: Assignment, leaving: int, racks: Mapping[int, str]
) -> dict[Named, Replicas | None]:
    """New replicas for all that a broker holds, another one each in its place.

    `racks` are the brokers that may be given something. None: there is none that has no replica of
    the partition already.
    """
    others = {broker: rack for broker, rack in racks.items() if broker != leaving}
    held = _held(assignment)
    plan: dict[Named, Replicas | None] = {}
    for named, replicas in assignment.items():
        if leaving not in replicas:
            continue
        rest = tuple(broker for broker in replicas if broker != leaving)
        wider = widened(rest, len(replicas), others, held)
        if len(wider) < len(replicas):
            plan[named] = None
            continue
        held[wider[-1]] += 1
        plan[named] = tuple(wider[-1] if broker == leaving else broker for broker in replicas)
    return plan


def evened(assignment: Assignment, racks: Mapping[int, str]) -> dict[Named, Replicas]:
    """The partitions that move, with their new replicas, so that no broker holds two more than
    another, and none is the first of two partitions more than another, as far as racks allow it."""
    balance = _Balance(assignment, racks)
    while balance.move_one():
        pass
    while balance.reorder_one():
        pass
    now = balance.assignment
    return {named: now[named] for named in assignment if now[named] != assignment[named]}


class _Balance:
    """An assignment on its way to an even one."""

    def __init__(self, assignment: Assignment, racks: Mapping[int, str]) -> None:
        self.assignment = dict(assignment)
        self._racks = racks
        self._held: dict[int, int] = dict.fromkeys(racks, 0)
        self._first: dict[int, int] = dict.fromkeys(racks, 0)
        self._topics: dict[int, dict[str, set[int]]] = {broker: {} for broker in racks}
        for (topic, index), replicas in assignment.items():
            for broker in replicas:
                if broker in racks:
                    self._note(broker, topic, index)
            if replicas[0] in racks:
                self._first[replicas[0]] += 1

    def _note(self, broker: int, topic: str, index: int) -> None:
        self._held[broker] += 1
        self._topics[broker].setdefault(topic, set()).add(index)

    def move_one(self) -> bool:
        """One replica, from one who has more to one who has less; False if none can."""
        by_load = sorted(self._held, key=lambda broker: (self._held[broker], broker))
        for heavy in reversed(by_load):
            for light in by_load:
                if self._held[heavy] - self._held[light] < 2:
                    break
                named = self._movable(heavy, light)
                if named is not None:
                    self._move(named, heavy, light)
                    return True
        return False

    def _movable(self, heavy: int, light: int) -> Named | None:
        """Of the topic that this makes most even."""
        theirs, own = self._topics[heavy], self._topics[light]

        def excess(topic: str) -> int:
            return len(theirs[topic]) - len(own.get(topic, ()))

        for topic in sorted(theirs, key=lambda each: (-excess(each), each)):
            for index in sorted(theirs[topic]):
                if self._may_move((topic, index), heavy, light):
                    return topic, index
        return None

    def _may_move(self, named: Named, heavy: int, light: int) -> bool:
        """Replicas must not come to share racks that they did not share."""
        replicas = self.assignment[named]
        if light in replicas:
            return False
        after = [light if broker == heavy else broker for broker in replicas]
        return self._racks_of(after) >= self._racks_of(replicas)

    def _racks_of(self, replicas: Replicas | list[int]) -> int:
        return len({self._racks.get(broker) for broker in replicas})

    def _move(self, named: Named, heavy: int, light: int) -> None:
        replicas = self.assignment[named]
        self.assignment[named] = tuple(light if each == heavy else each for each in replicas)
        topic, index = named
        self._held[heavy] -= 1
        self._topics[heavy][topic].discard(index)
        if not self._topics[heavy][topic]:
            del self._topics[heavy][topic]
        self._note(light, topic, index)
        if replicas[0] == heavy:
            self._first[heavy] -= 1
            self._first[light] += 1

    def reorder_one(self) -> bool:
        """One partition gets another of its replicas as the first; that costs no copying."""
        for named, place, gain in self._orders():
            if gain >= 2:
                replicas = self.assignment[named]
                first = replicas[place]
                self._first[replicas[0]] -= 1
                self._first[first] += 1
                rest = tuple(broker for broker in replicas if broker != first)
                self.assignment[named] = (first, *rest)
                return True
        return False

    def _orders(self) -> Iterator[tuple[Named, int, int]]:
        heavy = max(self._first, key=lambda broker: (self._first[broker], broker))
        for named, replicas in self.assignment.items():
            if replicas[0] != heavy:
                continue
            for place, broker in enumerate(replicas):
                if broker in self._first:
                    yield named, place, self._first[heavy] - self._first[broker]


def _held(assignment: Assignment) -> Counter[int]:
    return Counter(broker for replicas in assignment.values() for broker in replicas)
