"""Work on a log that takes long, in steps small enough to run beside everything else.

Such work is a generator. What happens between its steps is short, and belongs on the loop: it
touches the log and its files. What it yields is to be waited for by whoever carries it out; where
that fails, the failure is raised at the yield.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple, TypeVar

from penstock.world.ports import Cold, File

T = TypeVar("T")


class Sync(NamedTuple):
    files: Sequence[File]
    folders: Sequence[str]


Wait = Cold | Sync | Callable[[], None] | None
"""Warm it; sync it; run it off the loop; or let others have their turn. Then go on."""

Steps = Generator[Wait, None, T]
