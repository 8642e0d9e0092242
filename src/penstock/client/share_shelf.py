"""Records that wait to be handed out, and who waits for them.

What lies here is locked, and nobody works on it. So there is little of it: as many records as are
waited for, and beyond that no more than are done in half a second, up to `prefetch`. So nothing is
prefetched behind records that take hours, and little waits when one takes longer than the others.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from penstock.client.share_held import Held, Phase

RATE_S = 1.0


class Ticket(NamedTuple):
    most: int
    wake: Callable[[], None]
    number: int


class Shelf:
    """Threads share it; `lock` is also for what becomes of records that were handed out."""

    def __init__(self, prefetch: int, clock: Callable[[], float]) -> None:
        self.lock = threading.Lock()
        self.prefetch = prefetch
        self._clock = clock
        self._waiting: deque[Held] = deque()
        self._tickets: dict[int, Ticket] = {}
        self._number = 0
        self._done, self._done_before = 0, 0
        self.is_shut = False
        """Nobody is to take anything any more."""
        self._second_ends_s = clock() + RATE_S

    def __len__(self) -> int:
        return len(self._waiting)

    # -- for who works

    def take(self, most: int) -> list[Held]:
        """What there is, and still ours."""
        found: list[Held] = []
        now = self._clock()
        with self.lock:
            while self._waiting and len(found) < most:
                held = self._waiting.popleft()
                if held.phase is Phase.WAITING and held.locked_until_s > now:
                    held.phase, held.since_s = Phase.OUT, now
                    found.append(held)
        return found

    def note_done(self) -> None:
        """Of one record that was taken; under the lock."""
        self._count_rate()
        self._done += 1

    def listen(self, most: int, wake: Callable[[], None]) -> Ticket:
        """`wake` is called once, from another thread, when it is worth to look again; at once, if
        that has become so since somebody looked."""
        with self.lock:
            self._number += 1
            ticket = Ticket(most, wake, self._number)
            is_late = self.is_shut or any(each.phase is Phase.WAITING for each in self._waiting)
            if not is_late:
                self._tickets[ticket.number] = ticket
        if is_late:
            wake()
        return ticket

    def withdraw(self, ticket: Ticket) -> None:
        with self.lock:
            self._tickets.pop(ticket.number, None)

    @property
    def is_low(self) -> bool:
        """More should be fetched, though there is some."""
        return 2 * len(self._waiting) <= self._ahead

    # -- for who fetches

    def put(self, arrived: list[Held]) -> None:
        now = self._clock()
        for held in arrived:
            held.since_s = now
        with self.lock:
            self._waiting.extend(arrived)
            woken, count = [], 0
            while self._tickets and count < len(arrived):
                ticket = self._tickets.pop(next(iter(self._tickets)))
                count += ticket.most
                woken.append(ticket)
        for ticket in woken:
            ticket.wake()

    def wake_all(self) -> None:
        with self.lock:
            woken, self._tickets = self._tickets, {}
        for ticket in woken.values():
            ticket.wake()

    def need(self) -> int:
        """How many more there should be."""
        with self.lock:
            self._count_rate()
            if self.is_shut:
                return 0
            while self._waiting and self._waiting[0].phase is not Phase.WAITING:
                self._waiting.popleft()
            wanted = sum(ticket.most for ticket in self._tickets.values())
            return wanted + self._ahead - len(self._waiting)

    def stale(self, since_s: float) -> list[Held]:
        """What nobody has taken in the time since then."""
        with self.lock:
            if not self._waiting or self._waiting[0].since_s > since_s:
                return []
            return [
                held
                for held in self._waiting
                if held.since_s <= since_s and held.phase is Phase.WAITING
            ]

    def slow_down(self) -> None:
        """What was done in the last second says nothing of the next: some lies here untaken."""
        with self.lock:
            self._done = self._done_before = 0

    @property
    def _ahead(self) -> int:
        """Of what was done in a second, half."""
        return min(self.prefetch, max(self._done, self._done_before) // 2)

    def _count_rate(self) -> None:
        now = self._clock()
        if now >= self._second_ends_s:
            is_old = now >= self._second_ends_s + RATE_S
            self._done_before, self._done = (0 if is_old else self._done), 0
            self._second_ends_s = now + RATE_S
