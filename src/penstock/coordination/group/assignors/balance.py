"""How many partitions of each pool each member gets, when all are to have as many as the others.

Two steps. What nobody has goes to whoever has least. Then, as long as someone has two more than
another member of a pool it has a part of, one goes from the former to the latter. Each such move
brings two numbers nearer to each other, so it ends. In a group with one pool no fewer moves would
do: only those above the final level ever give, and only those below it ever take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace

from penstock.coordination.pace import Pace
from penstock.log.steps import Steps

MOVE_COST = 3
"""Of a partition that is given or moved, in names of topics."""


@dataclass(frozen=True, slots=True)
class Share:
    """How a pool is shared among its members."""

    counts: dict[int, int]
    """Partitions by member; each member of the pool is in it."""
    free: int
    """Partitions that nobody has."""


def balance(shares: Sequence[Share]) -> Steps[list[dict[int, int]]]:
    """The counts with nothing left free; the shares stay as they are."""
    pace = Pace()
    loads: dict[int, int] = {}
    counts: list[dict[int, int]] = []
    for share in shares:
        counts.append(dict(share.counts))
        for member, count in share.counts.items():
            loads[member] = loads.get(member, 0) + count
        if pace.is_spent(len(share.counts)):
            yield None
    for each, share in zip(counts, shares, strict=True):
        _fill(each, share.free, loads)
        if pace.is_spent(len(each) + MOVE_COST * share.free):
            yield None
    is_level = False
    while not is_level:
        is_level = True
        for each in counts:
            moved = _level(each, loads)
            is_level = is_level and not moved
            if pace.is_spent(2 * len(each) + MOVE_COST * moved):
                yield None
    return counts


def _fill(counts: dict[int, int], free: int, loads: dict[int, int]) -> None:
    lowest = [(loads[member], member) for member in counts]
    heapify(lowest)
    for _ in range(free):
        load, taker = lowest[0]
        heapreplace(lowest, (load + 1, taker))
        counts[taker] += 1
        loads[taker] = load + 1


def _level(counts: dict[int, int], loads: dict[int, int]) -> int:
    """Move from the most to the least loaded until they are level, and say how often.

    Who gives never takes here, nor the other way round, so a member's entry in the heap of the
    other side may grow stale without ever coming to the top.
    """
    highest = [(-loads[member], member) for member, count in counts.items() if count]
    lowest = [(loads[member], member) for member in counts]
    heapify(highest)
    heapify(lowest)
    moved = 0
    while highest and -highest[0][0] - lowest[0][0] >= 2:
        giver, taker = highest[0][1], lowest[0][1]
        counts[giver] -= 1
        loads[giver] -= 1
        counts[taker] += 1
        loads[taker] += 1
        heapreplace(lowest, (loads[taker], taker))
        if counts[giver]:
            heapreplace(highest, (-loads[giver], giver))
        else:
            heappop(highest)
        moved += 1
    return moved
