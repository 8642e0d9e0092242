"""Records in a row that are in the same state, as one thing; all of them in order, without a hole.

They are cut where states part, and joined where they are alike again, so how many there are goes by
how mixed the states are and not by how many records.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from penstock.sharing.phases import Phase

if TYPE_CHECKING:
    from penstock.sharing.writes import Pending


class Span:
    __slots__ = (
        "deliveries",
        "first",
        "last",
        "lock_ms",
        "member",
        "pending",
        "phase",
        "rejected_after",
    )

    def __init__(
        self,
        first: int,
        last: int,
        phase: Phase,
        deliveries: int,
        member: str = "",
        lock_ms: float = 0.0,
        pending: Pending | None = None,
        rejected_after: int = 0,
    ) -> None:
        self.first = first
        self.last = last
        self.phase = phase
        self.deliveries = deliveries
        """None are counted of records that are finished: so they stay one span."""
        self.member = member
        """Who has them."""
        self.lock_ms = lock_ms
        """Until when; or until when nobody has them, while they wait."""
        self.pending = pending
        """What their member has said of them, and is not stored yet."""
        self.rejected_after = rejected_after
        """So many deliveries, while they wait to be buried for that."""

    def __len__(self) -> int:
        return self.last - self.first + 1

    def _part(self, first: int, last: int) -> Span:
        return Span(
            first,
            last,
            self.phase,
            self.deliveries,
            self.member,
            self.lock_ms,
            self.pending,
            self.rejected_after,
        )

    def cut_off(self, first: int) -> Span:
        """The part from there on, which is another one now."""
        rest = self._part(first, self.last)
        self.last = first - 1
        return rest

    def is_like(self, other: Span) -> bool:
        return (
            self.phase is other.phase
            and self.deliveries == other.deliveries
            and self.lock_ms == other.lock_ms
            and self.member == other.member
            and self.pending is other.pending
            and self.rejected_after == other.rejected_after
        )


class Spans:
    """From `start` up to `end`, which is behind the last of them."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = start
        self._spans: list[Span] = []
        self._firsts: list[int] = []
        """Of each, to find it by."""

    def __len__(self) -> int:
        return len(self._spans)

    def __iter__(self) -> Iterator[Span]:
        return iter(self._spans)

    def __getitem__(self, index: int) -> Span:
        return self._spans[index]

    def index(self, offset: int) -> int:
        """Of the span that has this offset, which is not below the start."""
        return bisect_right(self._firsts, offset) - 1

    def within(self, first: int, last: int) -> list[Span]:
        """All that have some of these offsets, as far as there are any."""
        first, last = max(first, self.start), min(last, self.end - 1)
        return [] if first > last else self._spans[self.index(first) : self.index(last) + 1]

    def cut(self, first: int, last: int) -> list[Span]:
        """Those that have exactly these offsets, as far as there are any."""
        first, last = max(first, self.start), min(last, self.end - 1)
        if first > last:
            return []
        index = self.index(first)
        span = self._spans[index]
        if span.first == first and span.last == last:
            return [span]
        self._cut_at(last + 1)
        self._cut_at(first)
        index += span.first < first
        return self._spans[index : self.index(last) + 1]

    def cut_at_all(self, offsets: Sequence[int]) -> None:
        """So that a span begins at each of them. They are in order, and none lies below the start;
        many in one go, as members may speak of each record by itself."""
        low, high = self.index(offsets[0]), self.index(offsets[-1]) + 1
        pieces: list[Span] = []
        at = 0
        for span in self._spans[low:high]:
            pieces.append(span)
            while at < len(offsets) and offsets[at] <= pieces[-1].last:
                if offsets[at] > pieces[-1].first:
                    pieces.append(pieces[-1].cut_off(offsets[at]))
                at += 1
        if len(pieces) > high - low:
            self._spans[low:high] = pieces
            self._firsts[low:high] = [span.first for span in pieces]

    def _cut_at(self, offset: int) -> None:
        if self.start < offset < self.end:
            index = self.index(offset)
            span = self._spans[index]
            if span.first < offset:
                self._spans.insert(index + 1, span.cut_off(offset))
                self._firsts.insert(index + 1, offset)

    def add(self, span: Span) -> None:
        """At the end."""
        assert span.first == self.end
        self.end = span.last + 1
        if self._spans and self._spans[-1].is_like(span):
            self._spans[-1].last = span.last
            return
        self._spans.append(span)
        self._firsts.append(span.first)

    def join(self, first: int, last: int) -> None:
        """What is alike, from the neighbour before the first to that behind the last."""
        first, last = max(first, self.start), min(last, self.end - 1)
        if first > last:
            return
        low, high = max(self.index(first) - 1, 0), self.index(last) + 2
        joined: list[Span] = []
        for span in self._spans[low:high]:
            if joined and joined[-1].is_like(span):
                joined[-1].last = span.last
            else:
                joined.append(span)
        if len(joined) < len(self._spans[low:high]):
            self._spans[low:high] = joined
            self._firsts[low:high] = [span.first for span in joined]

    def drop_below(self, offset: int) -> list[Span]:
        """What lies below it is not there any more: the spans that are gone."""
        if offset <= self.start:
            return []
        self._cut_at(offset)
        count = len(self._spans) if offset >= self.end else self.index(offset)
        gone = self._spans[:count]
        del self._spans[:count], self._firsts[:count]
        self.start, self.end = offset, max(self.end, offset)
        return gone
