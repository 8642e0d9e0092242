"""What a broker for tests runs in: a process of its own, or a thread of ours."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from penstock.sdk.errors import TimedOut
from penstock.sdk.testing.nursery import Born, Nursery

STOPPED_S_MAX = 10.0
LOOK_S = 0.001


class Vessel(Protocol):
    """Started and ended any number of times."""

    def start(self, texts: Mapping[str, str]) -> int:
        """The port, once it accepts clients."""

    def stop(self) -> None:
        """Cleanly."""

    def kill(self) -> None: ...

    def drop(self) -> None:
        """For good: what it has is not needed any more."""

    def pause(self) -> None:
        """It does nothing any more, and nobody is told."""

    def resume(self) -> None: ...

    @property
    def is_running(self) -> bool:
        """Also while it is paused."""

    @property
    def logs(self) -> str: ...


class Process:
    def __init__(self, nursery: Nursery, log: Path) -> None:
        self._nursery = nursery
        self._log = log
        self._born: Born | None = None

    @property
    def pid(self) -> int | None:
        return self._born.pid if self._born else None

    def start(self, texts: Mapping[str, str]) -> int:
        self._born = self._nursery.start(texts, self._log)
        return self._born.port

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    drop = kill

    def _end(self, number: signal.Signals) -> None:
        born, self._born = self._born, None
        if born is not None:
            self._nursery.end(born.pid, number)

    def pause(self) -> None:
        if self._born is None:
            return
        os.kill(self._born.pid, signal.SIGSTOP)
        give_up_s = time.monotonic() + STOPPED_S_MAX
        while not _is_stopped(self._born.pid):
            if time.monotonic() > give_up_s:
                raise TimedOut(f"process {self._born.pid} has not stopped; is it still there?")
            time.sleep(LOOK_S)

    def resume(self) -> None:
        if self._born is not None:
            os.kill(self._born.pid, signal.SIGCONT)

    @property
    def is_running(self) -> bool:
        return self._born is not None and self._nursery.is_running(self._born.pid)

    @property
    def logs(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""


def _is_stopped(pid: int) -> bool:
    """True where the system does not say."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return True
