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


class Sync(NamedTuple):
    files: Sequence[File]
    folders: Sequence[str]


Wait = Cold | Sync | Callable[[], None] | None
"""Warm it; sync it; run it off the loop; or let others have their turn. Then go on."""

Steps = Generator[Wait, None, T]


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
