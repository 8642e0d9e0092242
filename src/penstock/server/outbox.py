"""The answers of one connection: they leave in the order of their requests.

An answer that waits holds a place; what is ready behind it stays until that place is filled. How
much may pile up here is bounded by the session, which asks before it takes another request.

A long poll would keep what comes behind it waiting for nothing. librdkafka asks who looks after its
group on the connection that it fetches by; if that takes longer than its retry.backoff.ms, it never
gets a commit through again. So a poll ends when something else is asked for behind it.
"""

from __future__ import annotations

from collections import deque

from penstock.server.waits import Slot, Waiting
from penstock.world.ports import Connection, FileRange, Part

IN_FLIGHT_MAX = 1000
"""Answers that may be outstanding on one connection before it is no longer read from."""
PARTS_MAX = 1024
"""Answers are sent on before more than so many pieces of them have piled up in one pass."""
ANSWERS_BYTES_MAX = 4 << 20
"""Memory that answers may take on one connection before no more requests of it are handled."""


class Outbox:
    __slots__ = ("_polls", "_ready", "_slots", "weight")

    def __init__(self) -> None:
        self._ready: list[Part] = []
        self._slots: deque[Slot] = deque()
        self._polls: list[Waiting] = []
        """Some may have ended."""
        self.weight = 0
        """Bytes of answers held here, as far as they are in memory and not small."""

    @property
    def has_unsent(self) -> bool:
        """Whether the client has yet to take what is ready for it."""
        return bool(self._ready)

    @property
    def has_waiting(self) -> bool:
        return bool(self._slots)

    @property
    def has_polls(self) -> bool:
        return bool(self._polls)

    @property
    def is_full(self) -> bool:
        return len(self._slots) >= IN_FLIGHT_MAX or self.weight > ANSWERS_BYTES_MAX

    @property
    def should_go(self) -> bool:
        return len(self._ready) > PARTS_MAX or self.weight > ANSWERS_BYTES_MAX

    def put(self, parts: list[Part]) -> None:
        """The answer to the latest request."""
        if self._slots:
            self.fill(self.reserve(), parts)
        else:
            self.weight += in_memory(parts)
            self._ready.extend(parts)

    def put_small(self, answer: bytes) -> None:
        """As `put`, for an answer that is too small to be counted."""
        if self._slots:
            self.reserve().parts = [answer]
            self._collect()
        else:
            self._ready.append(answer)

    def reserve(self) -> Slot:
        slot = Slot()
        self._slots.append(slot)
        return slot

    def add(self, slot: Slot) -> None:
        """A place that knows itself when it is filled."""
        self._slots.append(slot)

    def fill(self, slot: Slot, parts: list[Part]) -> None:
        self.weight += in_memory(parts)
        slot.parts = parts
        self._collect()

    def give_up(self, slot: Slot) -> None:
        """There will be no answer."""
        self._slots.remove(slot)

    def add_poll(self, poll: Waiting) -> None:
        self._polls = [*(each for each in self._polls if each.is_waiting), poll]

    def end_polls(self) -> None:
        """They are answered with what there is."""
        polls, self._polls = self._polls, []
        for poll in polls:
            poll.expire()

    def send(self, connection: Connection) -> int:
        """As much as the client takes, in bytes. Raises OSError."""
        self._collect()
        if not self._ready:
            return 0
        sent = connection.send(self._ready)
        self._ready = remaining(self._ready, sent)
        if self.weight and not self._ready:
            self.weight = sum(in_memory(slot.parts) for slot in self._slots if slot.parts)
        return sent

    def _collect(self) -> None:
        slots = self._slots
        while slots and (parts := slots[0].parts) is not None:
            self._ready.extend(parts)
            slots.popleft()

    def clear(self) -> None:
        for slot in self._slots:
            slot.cancel()
        self._slots.clear()
        self._ready.clear()
        self._polls.clear()


def in_memory(parts: list[Part]) -> int:
    """How many bytes of an answer are not in a file."""
    return sum(len(part) for part in parts if not isinstance(part, FileRange))


def remaining(parts: list[Part], sent: int) -> list[Part]:
    """What is left of the parts once so many bytes of them have gone."""
    for position, part in enumerate(parts):
        if sent < len(part):
            return [cut(part, sent), *parts[position + 1 :]] if sent else parts[position:]
        sent -= len(part)
    return []


def cut(part: Part, taken: int) -> Part:
    if isinstance(part, FileRange):
        return FileRange(part.file, part.position + taken, part.length - taken)
    return memoryview(part)[taken:]
