"""Stretches of records in one state each, and what is known of them later laid over that.

A list of them is in order, and no two overlap; neighbours that are alike are one. Whoever sends
some need not keep to that: what stands further on counts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from penstock.wire.delivery import StateBatch


def merge(
    older: Iterable[StateBatch], newer: Iterable[StateBatch], start: int
) -> tuple[StateBatch, ...]:
    """`older` is such a list already. What lies below `start` goes."""
    merged = list(older)
    for batch in newer:
        if batch.last >= start:
            _lay_over(merged, batch)
    return tuple(_from(merged, start))


def _lay_over(batches: list[StateBatch], new: StateBatch) -> None:
    """Puts it in its place, with what it leaves of others, and joins it to its neighbours."""
    first = bisect_left(batches, (new.first,))
    if first and batches[first - 1].last >= new.first:
        first -= 1
    end = bisect_left(batches, (new.last + 1,), first)
    pieces = batches[max(first - 1, 0) : first]
    if first < end:
        head, tail = batches[first], batches[end - 1]
        if head.first < new.first:
            pieces.append(head._replace(last=new.first - 1))
        pieces.append(new)
        if tail.last > new.last:
            pieces.append(tail._replace(first=new.last + 1))
    else:
        pieces.append(new)
    pieces += batches[end : end + 1]
    batches[max(first - 1, 0) : end + 1] = _joined(pieces)


def _joined(pieces: list[StateBatch]) -> list[StateBatch]:
    joined = pieces[:1]
    for piece in pieces[1:]:
        before = joined[-1]
        if before.last + 1 == piece.first and before[2:] == piece[2:]:
            joined[-1] = before._replace(last=piece.last)
        else:
            joined.append(piece)
    return joined


def _from(batches: list[StateBatch], start: int) -> list[StateBatch]:
    at = bisect_left(batches, (start,))
    if at and batches[at - 1].last >= start:
        at -= 1
        batches[at] = batches[at]._replace(first=start)
    return batches[at:]
