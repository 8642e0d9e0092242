"""Work on a log that takes long, in steps small enough to run beside everything else.

Such work is a generator. What happens between its steps is short, and belongs on the loop: it
touches the log and its files. What it yields is to be waited for by whoever carries it out; where
that fails, the failure is raised at the yield.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

from penstock.world.ports import Cold, File

T = TypeVar("T")

WARM_TRIES = 3
BATCHES_A_SLICE = 500
BYTES_A_SLICE = 1 << 20
"""Looked at in one step: a few milliseconds' worth."""


class Sync(NamedTuple):
    files: Sequence[File]
    folders: Sequence[str]


class Apart(NamedTuple):
    """Work that may take much memory: one at a time."""

    work: Callable[[], None]


Wait = Cold | Sync | Apart | Callable[[], None] | None
"""Warm it; sync it; run it off the loop; or let others have their turn. Then go on."""

Steps = Generator[Wait, None, T]


class Pauses:
    """When it is time to let others have their turn, a few milliseconds of work since the last."""

    __slots__ = ("_batches", "_bytes")

    def __init__(self) -> None:
        self._batches = self._bytes = 0

    def is_due(self, size: int = 0) -> bool:
        """One more batch was looked at, and so many bytes of it."""
        self._batches += 1
        self._bytes += size
        if self._batches < BATCHES_A_SLICE and self._bytes < BYTES_A_SLICE:
            return False
        self._batches = self._bytes = 0
        return True


def exhaust(steps: Generator[None, None, T]) -> T:
    """All of it at once, for who can wait, or cannot do otherwise."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


def turns(steps: Steps[T]) -> Generator[None, None, T]:
    """Of steps that wait for nothing but their next turn."""
    while True:
        try:
            wait = next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        assert wait is None
        yield


def warmed(action: Callable[[bool], T]) -> Steps[T]:
    """Try again after each read that would have waited; read all the same if that does not help.

    `action` is told whether it may wait for the disk, and raises Cold where it would have to.
    """
    last, tries = ("", 0, 0), 0
    while True:
        try:
            return action(tries >= WARM_TRIES)
        except Cold as cold:
            place = cold.file.path, cold.position, cold.length
            last, tries = place, tries + 1 if place == last else 1
            with suppress(OSError):  # it may be gone by now: the next try tells
                yield cold
