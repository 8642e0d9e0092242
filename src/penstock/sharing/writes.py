"""What is to be stored of a share: what its members have said, and what time has done.

What a member says counts once it is stored. Until then its records are neither available nor can
anything else be said of them. One write is under way at a time; what comes meanwhile goes with the
next, so many members who are quick cost few writes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from penstock.sharing.phases import FINISHED, STORED
from penstock.sharing.window import Fate, Window
from penstock.wire.delivery import StateBatch

Ranges = Sequence[tuple[int, int]]


class Change(NamedTuple):
    """What becomes of records once that is stored."""

    first: int
    last: int
    fate: Fate


class Pending:
    """What one request has said."""

    __slots__ = ("changes", "is_done", "is_kept")

    def __init__(self) -> None:
        self.changes: list[Change] = []
        """In order of their offsets."""
        self.is_done = False
        self.is_kept = False
        """Once it is done: whether it counts. Else the records are as they were."""

    def commit(self, window: Window) -> None:
        self.is_done = self.is_kept = True
        for first, last, fate in self.changes:
            for span in window.spans.cut(first, last):
                if span.pending is self:
                    window.settle(span, fate)
        self._join(window)

    def undo(self, window: Window) -> None:
        """Locks go on, and those that have ended meanwhile are due at once."""
        self.is_done = True
        for first, last, _ in self.changes:
            for span in window.spans.cut(first, last):
                if span.pending is self:
                    span.pending = None
                    window.lock(span.first, span.last, span.lock_ms)
                    window.touch(span.first, span.last)
        self._join(window)

    def _join(self, window: Window) -> None:
        if self.changes:
            window.spans.join(self.changes[0].first, self.changes[-1].last)


class Write:
    """To be sent to the coordinator; then it is either kept or not, and the next may be taken."""

    def __init__(
        self, window: Window, state_epoch: int, pending: Sequence[Pending], touched: Ranges | None
    ) -> None:
        self.state_epoch = state_epoch
        self.pending = pending
        self.touched = touched
        changes = [change for each in pending for change in each.changes]
        finishing = sorted(
            (max(change.first, window.start), change.last)
            for change in changes
            if change.fate.phase in FINISHED and change.last >= window.start
        )
        self.start_offset = _start_after(window, finishing)
        """Where the share begins once this is stored: what lies below need not be told."""
        count = sum(last - first + 1 for first, last in finishing)
        self.complete_count = window.finished + count - (self.start_offset - window.start)
        batches = _told(window, self.touched)
        batches += [
            StateBatch(first, last, STORED[fate.phase], fate.deliveries, fate.rejected_after)
            for first, last, fate in changes
        ]
        self.batches = list(_from(batches, self.start_offset))
        """What stands further on counts."""


def _start_after(window: Window, finishing: Ranges) -> int:
    spans, at = window.spans, window.start
    while at < window.end:
        span = spans[spans.index(at)]
        if span.phase in FINISHED:
            at = span.last + 1
            continue
        index = bisect_left(finishing, (at + 1,)) - 1
        if index < 0 or finishing[index][1] < at:
            break
        at = finishing[index][1] + 1
    return at


def _told(window: Window, touched: Ranges | None) -> list[StateBatch]:
    """As it is stored. Locks are not: what is with somebody was delivered so often."""
    told: list[StateBatch] = []
    for first, last in together(touched) if touched is not None else [(window.start, window.end)]:
        for span in window.spans.within(first, last):
            batch = StateBatch(
                max(span.first, first),
                min(span.last, last),
                STORED[span.phase],
                span.deliveries,
                span.rejected_after,
            )
            if told and told[-1].last + 1 == batch.first and told[-1][2:] == batch[2:]:
                told[-1] = told[-1]._replace(last=batch.last)
            else:
                told.append(batch)
    return told


def together(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """In order, each offset once, and neighbours as one."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def _from(batches: Iterable[StateBatch], start: int) -> Iterator[StateBatch]:
    for batch in batches:
        if batch.first >= start:
            yield batch
        elif batch.last >= start:
            yield batch._replace(first=start)
