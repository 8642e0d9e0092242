"""A real Spark cluster: a standalone master and its workers, each a process of its own."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pyspark
from tests.spark.worker_process import ROOT

from penstock.spark.session import prepare_environment

T = TypeVar("T")
WAIT_S = 300.0
CORES = 4
MEMORY = "1g"
_PACKAGE = "org.apache.spark.deploy"
_BOUND = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = "Successfully registered with master"
_EXECUTOR = "CoarseGrainedExecutorBackend"


def wait_for(found: Callable[[], T | None], what: str) -> T:
    deadline = time.monotonic() + WAIT_S
    while not (told := found()):
        assert time.monotonic() < deadline, f"{what} does not come about"
        time.sleep(0.05)
    return told


class Standalone:
    """Ports are the system's choice, so that any number of them may run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self.master = ""

    def start(self, workers: int) -> Standalone:
        at = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        self._begin("master", f"{_PACKAGE}.master.Master", *at)
        self.master = wait_for(self._address, "a master")
        for number in range(workers):
            name, work = f"worker-{number}", self._folder / f"work-{number}"
            room = ("--cores", str(CORES), "--memory", MEMORY, "--work-dir", str(work))
            self._begin(name, f"{_PACKAGE}.worker.Worker", *at, *room, self.master)
        for number in range(workers):
            name = f"worker-{number}"
            wait_for(lambda name=name: _REGISTERED in self._told(name), name)  # type: ignore[misc]
        return self

    def executors(self) -> list[int]:
        """Processes of those that run: children of the workers."""
        workers = [each.pid for name, each in self._started.items() if name != "master"]
        return [pid for each in workers for pid in children(each) if _EXECUTOR in command(pid)]

    def end(self) -> None:
        """Executors first: they outlive workers that are killed, for a while."""
        for pid in self.executors():
            kill(pid)
        for each in self._started.values():
            each.kill()
            each.wait(timeout=30)

    def _begin(self, name: str, kind: str, *options: str) -> None:
        prepare_environment()
        home = Path(pyspark.__file__).parent
        with (self._folder / f"{name}.log").open("wb") as log:
            self._started[name] = subprocess.Popen(
                [str(home / "bin" / "spark-class"), kind, *options],
                stdout=log,
                stderr=log,
                env={**os.environ, **_settings(home, self._folder)},
            )

    def _told(self, name: str) -> str:
        assert self._started[name].poll() is None, f"{name} has ended"
        return (self._folder / f"{name}.log").read_text()

    def _address(self) -> str | None:
        found = _BOUND.search(self._told("master"))
        return found[1] if found else None


@contextmanager
def running(folder: Path, workers: int) -> Iterator[Standalone]:
    made = Standalone(folder)
    try:
        yield made.start(workers)
    finally:
        made.end()


def _settings(home: Path, folder: Path) -> dict[str, str]:
    """Workers hand their environment on to executors, which need the tests' code."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        "PYTHONPATH": os.pathsep.join(paths),
    }


def children(pid: int) -> list[int]:
    """Each of its threads has its own."""
    found = []
    for each in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in each.read_text().split()]
    return found


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def kill(pid: int) -> None:
    """As a machine does it that runs out of memory; waits until it is gone."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    wait_for(lambda: not command(pid), f"the end of {pid}")
