"""Processes that copy a topic exactly once, which die with a transaction open and are replaced."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from tests.group_stage import wait_until

WAIT_S = 120


class CopyProcess:
    """One of them, under a transactional id that its successor takes over."""

    def __init__(self, name: str, *arguments: str) -> None:
        self._name = name
        self._arguments = arguments
        self.lines: list[str] = []
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> CopyProcess:
        address, source, target, size = self._arguments
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.copy_worker", address, source, target, self._name, size],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=Path(__file__).parent.parent,
        )
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()
        return self

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.lines += (line.strip() for line in process.stdout)

    @property
    def is_open(self) -> bool:
        """Whether it has a transaction open, as far as it has said."""
        return bool(self.lines) and self.lines[-1].startswith("open")

    def kill_at_work(self) -> None:
        """With a transaction open, which is asserted: it has said nothing else since."""
        while True:
            wait_until(lambda: self.is_open, f"{self._name} has a transaction open", WAIT_S)
            self.kill()
            if self.is_open:
                return
            self.start()

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            self._reader.join()
            assert process.stdout is not None
            process.stdout.close()

    @property
    def committed(self) -> int:
        return sum(int(line.split()[1]) for line in list(self.lines) if "committed" in line)
