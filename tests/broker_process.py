"""A broker as users run it: `penstock serve` in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

from tests.forked import Forked

READY = re.compile(r"penstock ready: broker (\d+) at (.+):(\d+)\n")


class BrokerProcess:
    def __init__(self, data_dir: Path, *options: str) -> None:
        self.data_dir = data_dir
        self.options = options
        self.wrapper: tuple[str, ...] = ()
        """A command to start it with, such as prlimit."""
        self.is_forked = True
        """From a process that has loaded all it needs: most of a start is that."""
        self.port = 0
        self.log_path = data_dir.with_name(data_dir.name + ".stderr")
        self._process: subprocess.Popen[str] | Forked | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """What it has written to standard error since it was first started."""
        return self.log_path.read_text()

    def start(self) -> BrokerProcess:
        """Returns once it accepts connections; the same port again after a restart."""
        with self.log_path.open("a") as log:
            self._process = self._begin(log)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        found = READY.fullmatch(line)
        if not found:
            self.kill()
            raise AssertionError(f"the broker did not start: {line!r}\n{self.log}")
        self.port = int(found[3])
        return self

    def _begin(self, log: IO[str]) -> subprocess.Popen[str] | Forked:
        listen = ("--listen", self.address)
        command = ("serve", *listen, "--data-dir", str(self.data_dir), *self.options)
        if self.is_forked and not self.wrapper:
            return Forked(command, stderr=log.fileno())
        return subprocess.Popen(
            [*self.wrapper, sys.executable, "-m", "penstock", *command],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )

    def kill(self) -> None:
        """As a crash does it: kill -9."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """As an operator does it; the exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(number)
        code = process.wait(timeout=30)
        assert process.stdout is not None
        process.stdout.close()
        return code
