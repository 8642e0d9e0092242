"""Processes that copy a topic exactly once, which die with a transaction open and are replaced."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.group_stage import wait_until
from tests.metadata.zookeeper_backend import wait_stopped

WAIT_S = 120
ROOT = Path(__file__).parent.parent


class CopyProcess:
    """One of them, under a transactional id that its successor takes over."""

    def __init__(self, said: Path, command: Sequence[str]) -> None:
        """`said`: the file for what it says, in which it is the moment it has said it."""
        self._said = said
        said.touch()
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> CopyProcess:
        with self._said.open("a") as said, self._errors.open("a") as errors:
            self._process = subprocess.Popen(self._command, stdout=said, stderr=errors, cwd=ROOT)
        return self

    @property
    def lines(self) -> list[str]:
        """Whole ones."""
        return self._said.read_text().rpartition("\n")[0].splitlines()

    @property
    def _errors(self) -> Path:
        return self._said.with_suffix(".stderr")

    @property
    def is_open(self) -> bool:
        """Whether it has a transaction open, as far as it has said."""
        return "".join(self.lines[-1:]).startswith("open")

    def kill_at_work(self) -> None:
        """With a transaction open, which is asserted: it has said nothing else since."""
        while True:
            self.wait_open()
            self.kill()
            if self.is_open:
                return
            self.start()

    def pause_at_work(self) -> None:
        """The same, but it may go on later."""
        while True:
            self.wait_open()
            self._signal(signal.SIGSTOP)
            wait_stopped(self._running.pid)
            if self.is_open:
                return
            self.wake()

    def wait_open(self) -> None:
        wait_until(lambda: self.is_open, f"{self} has a transaction open", WAIT_S)

    def wake(self) -> None:
        self._signal(signal.SIGCONT)

    def leave(self) -> None:
        """In the middle of a batch, which is aborted, and taken over by others."""
        self._signal(signal.SIGTERM)
        assert self._running.wait(WAIT_S) == 0, self
        self.kill()

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    @property
    def committed(self) -> int:
        return sum(int(line.split()[-1]) for line in self.lines if "committed" in line)

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def _signal(self, number: signal.Signals) -> None:
        os.kill(self._running.pid, number)

    def __str__(self) -> str:
        return f"{self._said.stem}: {self.lines[-5:]}; {self._errors.read_text()[-2000:]}"


def python_copier(client: str, said: Path, *arguments: str) -> CopyProcess:
    """Arguments: address, source, target, and messages of a transaction."""
    *places, size = arguments
    command = [sys.executable, "-m", "tests.copy_worker", client, *places, said.stem, size]
    return CopyProcess(said, command)
