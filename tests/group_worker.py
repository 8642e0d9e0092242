"""A consumer in a process of its own: `python -m tests.group_worker SETTINGS`, as JSON.

It processes messages, which is to write them to its journal, and commits them after that, or before
it if that is asked for. It leaves its group on SIGTERM.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.group_journal import Journal, Place, Span

BATCH = 10
"""Messages that are processed before they are committed."""
POLL_S = 0.1


@dataclass(frozen=True)
class Settings:
    client: str
    """The module that works with the client: tests.group_worker_CLIENT."""
    address: str
    name: str
    """Which it tells the broker as its client id."""
    group: str
    topics: list[str]
    journal: str
    commits_first: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    """As the client names them."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class Uncommitted:
    """What was processed and is not committed yet."""

    def __init__(self) -> None:
        self._ends: dict[Place, tuple[int, int]] = {}

    def __len__(self) -> int:
        return sum(end - first for first, end in self._ends.values())

    def add(self, topic: str, partition: int, offset: int) -> None:
        first, _ = self._ends.get((topic, partition), (offset, 0))
        self._ends[topic, partition] = first, offset + 1

    def spans(self) -> list[Span]:
        return [(*place, first, end) for place, (first, end) in self._ends.items()]

    def forget(self, places: Iterable[Any]) -> None:
        for each in places:
            self._ends.pop((each.topic, each.partition), None)

    def clear(self) -> None:
        self._ends.clear()


def end_with_the_test(parent: int) -> None:
    """A test that is killed itself leaves no workers behind."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main() -> None:
    threading.Thread(target=end_with_the_test, args=[os.getppid()], daemon=True).start()
    settings = Settings(**json.loads(sys.argv[1]))
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    journal = Journal(Path(settings.journal))
    journal.watch_for_stalls()
    journal.note("started")
    module = import_module(f"tests.group_worker_{settings.client}")
    work: Callable[[Settings, Journal, threading.Event], None] = module.work
    work(settings, journal, stopping)
    journal.note("left")


if __name__ == "__main__":
    main()
