"""When locks and pauses end: the next moment at which some do, and which they are."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from penstock.sharing.phases import TIMED
from penstock.sharing.spans import Span

SPARE = 64


class Lock(NamedTuple):
    due_ms: float
    first: int
    last: int


class Locks:
    """Some may have been given back or renewed since: whoever looks finds that out. The heap is
    made anew when most of it is so."""

    __slots__ = ("_heap",)

    def __init__(self) -> None:
        self._heap: list[Lock] = []

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def next_due_ms(self) -> float | None:
        return self._heap[0].due_ms if self._heap else None

    def add(self, due_ms: float, first: int, last: int) -> None:
        heappush(self._heap, Lock(due_ms, first, last))

    def take_due(self, now_ms: float) -> list[Lock]:
        due = []
        while self._heap and self._heap[0].due_ms <= now_ms:
            due.append(heappop(self._heap))
        return due

    def tidy(self, spans: Iterable[Span], count: int) -> None:
        """`count`: of the spans."""
        if len(self._heap) > 2 * count + SPARE:
            self._heap = [
                Lock(span.lock_ms, span.first, span.last) for span in spans if span.phase in TIMED
            ]
            heapify(self._heap)
