"""What a worker of a group writes down, line by line, while it works; and reading it back.

Times are of the system's monotonic clock, which all processes share.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Place = tuple[str, int]
"""A topic and the number of a partition."""
Span = tuple[str, int, int, int]
"""A topic, a partition, and offsets: the first, and the one after the last."""

STALL_S = 1.0
"""A worker that did not run for so long says so: it may have been taken for dead."""


@dataclass(frozen=True, slots=True)
class Entry:
    at: float
    what: str
    facts: dict[str, Any]

    @property
    def places(self) -> list[Place]:
        return [(topic, partition) for topic, partition in self.facts["places"]]

    @property
    def spans(self) -> list[Span]:
        return [(topic, number, first, end) for topic, number, first, end in self.facts["spans"]]


class Journal:
    """Each line is written at once, so that a kill takes away nothing that was done."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)
        self._lock = threading.Lock()

    def note(self, what: str, **facts: Any) -> None:
        with self._lock:
            self._file.write(json.dumps([time.monotonic(), what, facts]) + "\n")

    def note_places(self, what: str, places: Iterable[Any]) -> None:
        """Of partitions as any client has them."""
        self.note(what, places=sorted((each.topic, each.partition) for each in places))

    def watch_for_stalls(self) -> None:
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        last = time.monotonic()
        while True:
            time.sleep(0.05)
            now = time.monotonic()
            if now - last > STALL_S:
                self.note("stalled", since=last)
            last = now


class Reading:
    """A journal as it grows."""

    def __init__(self, path: Path) -> None:
        self.entries: list[Entry] = []
        self._path = path
        self._read = 0

    def go_on(self) -> list[Entry]:
        """What is new since the last time; a line that is not whole yet is left for the next."""
        if not self._path.exists():
            return []
        with self._path.open() as file:
            file.seek(self._read)
            text = file.read()
        whole = text[: text.rfind("\n") + 1]
        self._read += len(whole)
        new = [Entry(*json.loads(line)) for line in whole.splitlines()]
        self.entries += new
        return new
