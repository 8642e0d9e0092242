"""A broker on a core of its own, and what it costs."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.raw_client import RawClient

BROKER_CORE, LOAD_CORE = 0, 1
READY = re.compile(r"penstock ready: broker \d+ at (.+):(\d+)\n")


class PinnedBroker:
    """`penstock serve` on one core, with this process on the other, for the time of a `with`."""

    def __init__(
        self, *settings: str, profile: Path | None = None, under: Sequence[str] = ()
    ) -> None:
        self.settings = settings
        self.under = ("-m", "cProfile", "-o", str(profile)) if profile else under
        """A module that runs the broker as a module, such as a profiler."""
        self.started_ms = 0.0

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR"))
        self._start()
        return self

    def restart(self) -> None:
        """Stopped cleanly and started again on the same data, at another port."""
        self._stop()
        self._start()

    def _start(self) -> None:
        command = [sys.executable, *self.under, "-m", "penstock"]
        command += ["serve", "--listen", "127.0.0.1:0", "--data-dir", f"{self._folder.name}/data"]
        for setting in ("log.level=error", *self.settings):
            command += ["--set", setting]
        began = time.perf_counter()
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        os.sched_setaffinity(0, {BROKER_CORE})  # inherited by the broker
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        os.sched_setaffinity(0, {LOAD_CORE})
        assert self.process.stdout is not None
        found = READY.fullmatch(self.process.stdout.readline())
        assert found, "the broker did not start"
        self.started_ms = 1000 * (time.perf_counter() - began)
        self.host, self.port = found[1], int(found[2])

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()
        self._folder.cleanup()

    def _stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    @contextmanager
    def client(self) -> Iterator[RawClient]:
        client = RawClient(self.host, self.port)
        yield client
        client.close()

    def spent(self) -> Callable[[], tuple[float, float]]:
        """Begins to measure; what is returned gives the seconds since, and those of CPU."""
        cpu, began = self.cpu_seconds(), time.perf_counter()
        return lambda: (time.perf_counter() - began, self.cpu_seconds() - cpu)

    def cpu_seconds(self) -> float:
        """User and system time of all threads."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    def wait_until_deleted(self, topic: str) -> None:
        while any(name.startswith(f"{topic}-") for name in os.listdir(f"{self._folder.name}/data")):
            time.sleep(0.01)

    def resident_mb(self) -> float:
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize() / 1e6
