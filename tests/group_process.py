"""A worker of a group, from the outside: its process, and what it has written down so far."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.group_journal import Place, Reading
from tests.group_worker import Settings

ROOT = Path(__file__).parent.parent
WAIT_S = 60


class WorkerProcess:
    """A consumer, from the outside."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.owned: set[Place] = set()
        self.processed: set[tuple[Place, int]] = set()
        self.killed_at: float | None = None
        self.reading = Reading(Path(settings.journal))
        self._errors = Path(settings.journal + ".stderr")
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.group_worker", settings.to_json()],
                cwd=ROOT,
                stderr=errors,
            )

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """As a crash does it: kill -9."""
        self._process.kill()
        self._process.wait()
        self.killed_at = time.monotonic()
        self.follow()
        self.owned.clear()

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def leave(self) -> None:
        """As an operator does it; returns once it is gone."""
        self._process.terminate()
        self._process.wait(WAIT_S)
        self.check()
        self.follow()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    def check(self) -> None:
        """A worker ends only when it is told to."""
        if self.killed_at is None and self._process.poll() not in {None, 0}:
            raise AssertionError(f"worker {self.name} failed:\n{self._errors.read_text()}")

    def follow(self) -> None:
        for entry in self.reading.go_on():
            if entry.what == "assigned":
                self.owned.update(entry.places)
            elif entry.what in {"revoked", "lost"}:
                self.owned.difference_update(entry.places)
            elif entry.what == "processed":
                topic, partition = entry.facts["place"]
                self.processed.add(((topic, partition), entry.facts["offset"]))

    def __str__(self) -> str:
        entries = self.reading.entries
        told = [(each.what, each.places) for each in entries if "places" in each.facts]
        trouble = [each for each in entries if each.what in {"error", "refused", "stalled"}]
        state = "runs" if self.runs else "has ended"
        return (
            f"{self.name} {state} and has {sorted(self.owned)}; "
            f"lately {told[-6:]}; in trouble by {trouble[-3:]}"
        )

    def count(self, what: str) -> int:
        """How often it has written of this."""
        return sum(entry.what == what for entry in self.reading.entries)
