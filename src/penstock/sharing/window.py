"""The records that a share group is at: from the first that is not finished to the last that
anybody was given. What comes behind is available; what lies before is over.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.sharing.limits import Limits
from penstock.sharing.locks import Locks
from penstock.sharing.phases import FINISHED, MOVES, Phase
from penstock.sharing.spans import Span, Spans

SPANS_MAX = 8000
"""States more mixed than that are not taken further: what is stored of a share has its limit."""
LENGTH_MAX = (1 << 31) - 1
"""Of the window, as finished records in it are counted in 32 bits."""
TOUCHED_MAX = 1000
"""Stretches that are remembered to be stored; if there are more, all of it is."""


class Fate(NamedTuple):
    """What becomes of records that their member has no more."""

    phase: Phase
    deliveries: int = 0
    until_ms: float = 0.0
    """When their pause ends, if they have one."""
    rejected_after: int = 0
    """So many deliveries, if that is why they are buried."""


DONE, DROPPED = Fate(Phase.ACKNOWLEDGED), Fate(Phase.ARCHIVED)


class DeadLetters(NamedTuple):
    """Records that are given up, to be written elsewhere."""

    first: int
    last: int
    deliveries: int
    is_rejected: bool
    """By who had them; else they have been delivered as often as they may."""


class Window:
    def __init__(self, start: int, limits: Limits) -> None:
        self.spans = Spans(start)
        self.limits = limits
        self.counts = dict.fromkeys(Phase, 0)
        """Records in each state."""
        self.locks = Locks()
        self.open = start
        """Nothing below is available."""
        self.touched: list[tuple[int, int]] | None = []
        """What has changed and is not stored; None if that is all of it."""
        self.missing: list[tuple[int, int]] = []
        """What was found to hold no records. That alone is not worth a write: it goes with the
        next, which counts it as finished."""
        self.dead: list[DeadLetters] = []

    @property
    def start(self) -> int:
        return self.spans.start

    @property
    def end(self) -> int:
        return self.spans.end

    @property
    def finished(self) -> int:
        return self.counts[Phase.ACKNOWLEDGED] + self.counts[Phase.ARCHIVED]

    @property
    def in_flight(self) -> int:
        return self.end - self.start - self.finished

    @property
    def room(self) -> int:
        """How many more records may be in flight."""
        if len(self.spans) >= SPANS_MAX:
            return 0
        return max(min(self.limits.locks - self.in_flight, LENGTH_MAX - (self.end - self.start)), 0)

    # -- changes

    def add(self, span: Span) -> None:
        """Behind all others."""
        self.counts[span.phase] += len(span)
        if span.phase is Phase.AVAILABLE:
            self.open = min(self.open, span.first)
        self.spans.add(span)

    def move(
        self, span: Span, phase: Phase, deliveries: int, member: str = "", lock_ms: float = 0.0
    ) -> None:
        """A move that is not in the table is a bug."""
        if phase not in MOVES[span.phase]:
            raise AssertionError(f"{span.phase} is not followed by {phase}")
        self.counts[span.phase] -= len(span)
        self.counts[phase] += len(span)
        if phase is Phase.AVAILABLE:
            self.open = min(self.open, span.first)
        span.phase, span.deliveries = phase, deliveries
        span.member, span.lock_ms, span.pending = member, lock_ms, None
        span.rejected_after = 0

    def given_up(self, deliveries: int, *, rejected_after: int = 0) -> Fate:
        """What becomes of a record that nobody is to have again. Until it is buried its count says
        so, also to the next leader, whoever that is: so it is at the limit also if it was
        rejected."""
        if self.limits.buries:
            count = max(deliveries, self.limits.deliveries)
            return Fate(Phase.BURYING, count, rejected_after=rejected_after)
        return DROPPED

    def given_back(self, deliveries: int, now_ms: float, pause_ms: int) -> Fate:
        if deliveries >= self.limits.deliveries:
            return self.given_up(deliveries)
        if pause_ms <= 0:
            return Fate(Phase.AVAILABLE, deliveries)
        return Fate(Phase.WAITING, deliveries, now_ms + pause_ms)

    def settle(self, span: Span, fate: Fate) -> None:
        """It is with nobody any more."""
        if fate.phase is Phase.BURYING:
            is_rejected = fate.rejected_after > 0
            deliveries = fate.rejected_after if is_rejected else span.deliveries
            self.dead.append(DeadLetters(span.first, span.last, deliveries, is_rejected))
        self.move(span, fate.phase, fate.deliveries, lock_ms=fate.until_ms)
        span.rejected_after = fate.rejected_after
        if fate.phase is Phase.WAITING:
            self.lock(span.first, span.last, fate.until_ms)

    def touch(self, first: int, last: int) -> None:
        """It is to be stored as it is now."""
        if self.touched is not None:
            self.touched.append((first, last))
            if len(self.touched) > TOUCHED_MAX:
                self.touched = None

    def note_missing(self, first: int, last: int) -> None:
        self.missing.append((first, last))
        if len(self.missing) > TOUCHED_MAX:
            self.touched, self.missing = None, []

    def take_touched(self) -> list[tuple[int, int]] | None:
        """What is to be stored now."""
        touched, self.touched = self.touched, []
        missing, self.missing = self.missing, []
        return None if touched is None else touched + missing

    def advance(self) -> None:
        """The start moves over what is finished."""
        spans, index = self.spans, 0
        while index < len(spans) and spans[index].phase in FINISHED:
            index += 1
        if index:
            self.drop_below(spans[index].first if index < len(spans) else spans.end)

    def drop_below(self, offset: int) -> None:
        for span in self.spans.drop_below(offset):
            self.counts[span.phase] -= len(span)
        self.open = max(self.open, self.start)

    def lock(self, first: int, last: int, until_ms: float) -> None:
        """Some of these records are looked at then."""
        self.locks.add(until_ms, first, last)
        self.locks.tidy(self.spans, len(self.spans))
