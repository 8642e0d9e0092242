"""Which records a member is given: what is available, in order, around what is not."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from penstock.sharing.phases import Phase
from penstock.sharing.spans import Span
from penstock.sharing.window import LENGTH_MAX, Window


class Acquired(NamedTuple):
    first: int
    last: int
    deliveries: int


class Wanted(NamedTuple):
    """By a member, of the records that were read for it."""

    member: str
    first: int
    """Where reading has begun."""
    end: int
    """Behind the last record that was read, and that may be seen."""
    most: int
    """Records that it takes; up to the end of a batch more if `ends` are given."""
    ends: Sequence[int] = ()
    """The last offsets of the batches that were read."""

    def reach(self, first: int, room: int) -> int:
        """The last offset to be taken from `first` on, as far as these limits go."""
        last = first + room - 1
        at = bisect_left(self.ends, last)
        return min(self.ends[at] if at < len(self.ends) else last, self.end - 1)


def next_offset(window: Window, end: int) -> int | None:
    """Where to read for whoever asks next. None: there is nothing to be had now."""
    spans = window.spans
    if window.counts[Phase.AVAILABLE]:
        for index in range(spans.index(window.open), len(spans)):
            if spans[index].phase is Phase.AVAILABLE:
                window.open = spans[index].first
                return window.open if window.open < end else None
    return window.end if window.end < end and window.room else None


def acquire(window: Window, wanted: Wanted, lock_ms: float) -> list[Acquired]:
    taken: list[Acquired] = []
    if wanted.first >= wanted.end:
        return taken
    room = _take_again(window, wanted, lock_ms, taken)
    if room > 0:
        _take_new(window, wanted, room, lock_ms, taken)
    if taken:
        window.lock(taken[0].first, taken[-1].last, lock_ms)
    return taken


def archive_missing(window: Window, missing: Iterable[tuple[int, int]]) -> None:
    """First and last offsets, in order, of stretches in which there are no records. What is so far
    ahead that it cannot be acquired yet is left for another time."""
    for first, last in missing:
        for span in window.spans.cut(first, last):
            if span.phase is Phase.AVAILABLE:
                window.move(span, Phase.ARCHIVED, 0)
                window.note_missing(span.first, span.last)
        window.spans.join(first, last)
        fresh = max(first, window.end)
        if last >= fresh:
            if fresh - window.end > window.room:
                break
            _leave_out(window, fresh)
            most = window.start + LENGTH_MAX - 1 if window.in_flight else last
            window.add(Span(fresh, min(last, most), Phase.ARCHIVED, 0))
            window.note_missing(fresh, min(last, most))
        window.advance()


def _take_again(window: Window, wanted: Wanted, lock_ms: float, taken: list[Acquired]) -> int:
    """Of what was given to somebody before. How many more may be taken then."""
    spans, room = window.spans, wanted.most
    is_first = wanted.first <= window.open
    at = max(wanted.first, window.open)
    if room <= 0 or not window.counts[Phase.AVAILABLE] or at >= window.end:
        return room
    reached, index = window.end, spans.index(at)
    while index < len(spans):
        span, last = spans[index], spans[index].last
        if span.phase is Phase.AVAILABLE:
            if span.first >= wanted.end:
                reached = span.first
                break
            if span.deliveries >= window.limits.deliveries:
                _give_up(window, span)
            else:
                first = max(span.first, wanted.first)
                last = min(last, wanted.reach(first, room))
                room -= _take(window, wanted.member, first, last, lock_ms, taken)
                if room <= 0:
                    reached = last + 1
                    break
            index = spans.index(last)
        index += 1
    if is_first:
        window.open = reached
    return room


def _give_up(window: Window, span: Span) -> None:
    """The limit was higher when it was given back."""
    first, last = span.first, span.last
    window.touch(first, last)
    window.settle(span, window.given_up(span.deliveries))
    window.spans.join(first, last)


def _take(
    window: Window, member: str, first: int, last: int, lock_ms: float, taken: list[Acquired]
) -> int:
    (span,) = window.spans.cut(first, last)
    window.move(span, Phase.ACQUIRED, span.deliveries + 1, member, lock_ms)
    taken.append(Acquired(first, last, span.deliveries))
    return len(span)


def _take_new(
    window: Window, wanted: Wanted, room: int, lock_ms: float, taken: list[Acquired]
) -> None:
    first = max(window.end, wanted.first)
    left = window.room - (first - window.end)
    last = min(wanted.reach(first, room), first + left - 1)
    if last < first:
        return
    _leave_out(window, first)
    window.add(Span(first, last, Phase.ACQUIRED, 1, wanted.member, lock_ms))
    if taken and taken[-1].last + 1 == first and taken[-1].deliveries == 1:
        first = taken.pop().first
    taken.append(Acquired(first, last, 1))


def _leave_out(window: Window, first: int) -> None:
    """What lies between the window and what comes into it now was given to nobody yet."""
    if first > window.end:
        window.add(Span(window.end, first - 1, Phase.AVAILABLE, 0))
