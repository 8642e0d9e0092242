"""No more than so many rows in a batch: each partition gets its share of what there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.client.ranges import Range
from penstock.spark.source.offsets import Offsets, Place
from penstock.spark.source.ranges import ranges_between


def at_most(rows: int, start: Offsets, latest: Offsets) -> Offsets:
    """By the size of what waits in each, and in turn where that is too little for a row, so that
    none falls behind for good."""
    at = dict(latest.at)
    for each in shortened(ranges_between(start, latest), rows):
        at[each.topic, each.partition] = each.end
    return Offsets(at, latest.ids)


def shortened(ranges: Sequence[Range], rows: int) -> list[Range]:
    """The beginning of each, so many rows together."""
    total = sum(each.end - each.start for each in ranges)
    if total <= rows:
        return list(ranges)
    shares = [(each.end - each.start) * rows // total for each in ranges]
    rest = rows - sum(shares)
    for at in _in_turn(ranges, shares)[:rest]:
        shares[at] += 1
    return [
        each._replace(end=each.start + share) for each, share in zip(ranges, shares, strict=True)
    ]


def _in_turn(ranges: Sequence[Range], shares: Sequence[int]) -> list[int]:
    """Who gets a row of what is left over: those without one come first, and take turns.

    Where the turn stands is told by their offsets, which go on by as many as have had theirs. So
    each of them gets on, however few rows there are, and nothing has to be remembered.
    """
    without = [at for at, share in enumerate(shares) if not share]
    others = [at for at, share in enumerate(shares) if share]
    turn = sum(ranges[at].start for at in without) % max(1, len(without))
    return without[turn:] + without[:turn] + others


def cut_at(stops: Mapping[Place, int], latest: Offsets) -> Offsets:
    """No further than that; partitions that were not there when the end was chosen are left out."""
    at = {place: min(end, stops[place]) for place, end in latest.at.items() if place in stops}
    return Offsets(at, {place: latest.ids[place] for place in at})
