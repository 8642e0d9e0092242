"""Places in a job at which it comes to a stop, so that something can be killed just there."""

from __future__ import annotations

import time
from pathlib import Path

HELD_S = 800.0
_POLL_S = 0.02


class Held:
    """The first who comes to a place waits there; who comes again, after a kill, does not.

    A place is a file, so that processes of any kind share it: that it is there says that somebody
    waits, and one beside it lets them go on.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(exist_ok=True)

    def here(self, place: str) -> bool:
        """False if somebody has been here before."""
        try:
            (self._folder / place).touch(exist_ok=False)
        except FileExistsError:
            return False
        deadline = time.monotonic() + HELD_S
        while not self._way_on(place).exists():
            if time.monotonic() > deadline:
                raise TimeoutError(f"nobody was killed, or let go on, at {place}")
            time.sleep(_POLL_S)
        return True

    def in_turn(self, *places: str) -> None:
        """At the first of them where nobody has been."""
        any(self.here(place) for place in places)

    def is_taken(self, place: str) -> bool:
        return (self._folder / place).exists()

    def let_go(self, place: str) -> None:
        self._way_on(place).touch()

    def _way_on(self, place: str) -> Path:
        return self._folder / f"{place} goes on"


def beside(folder: str | Path) -> Held:
    """Places in what is done to a table: any process that writes to it finds them there."""
    return Held(Path(folder).parent / "held")
