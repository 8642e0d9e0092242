"""Broker processes that are ready at once, and end with us: the way to `nursery_process`."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import penstock
from penstock.sdk.errors import BrokerRefused

STOP_S_MAX = 60.0


class Born(NamedTuple):
    pid: int
    port: int


class Nursery:
    """One process for all brokers of ours. Its folder is gone after it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.folder = Path(tempfile.mkdtemp(prefix="penstock-test-"))
        self._numbers = count(1)
        self._turn = threading.Lock()
        with (self.folder / "nursery.log").open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-P", "-m", f"{__name__}_process", str(self.folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=_environment(),
                start_new_session=True,  # Ctrl-C is for us
            )

    def new_folder(self) -> Path:
        """For the data of a broker, or of a cluster."""
        made = self.folder / str(next(self._numbers))
        made.mkdir()
        return made

    def start(self, texts: Mapping[str, str], log: Path) -> Born:
        answer = self._ask({"start": dict(texts), "log": str(log)})
        if "error" in answer:
            raise BrokerRefused(f"{answer['error']}: {_last_line(log)}")
        return Born(answer["pid"], answer["port"])

    def end(self, pid: int, number: signal.Signals) -> int:
        code: int = self._ask({"end": pid, "signal": int(number)})["code"]
        return code

    def is_running(self, pid: int) -> bool:
        return bool(self._ask({"look": pid})["is_running"])

    @property
    def pid(self) -> int:
        return self._process.pid

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        sent, received = self._process.stdin, self._process.stdout
        assert sent is not None
        assert received is not None
        with self._turn:
            try:
                sent.write(json.dumps(request) + "\n")
                sent.flush()
                line = received.readline()
            except (OSError, ValueError):
                line = ""
        if not line:
            raise BrokerRefused("the process that brokers are started from has ended")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """All of its brokers are killed, and their data is gone."""
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(OSError):  # it may be gone
                stream.close()
        try:
            self._process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)  # if it has not come to that itself


def _environment() -> dict[str, str]:
    """It finds the same Penstock that we have, however we came by it."""
    here = str(Path(penstock.__file__).parent.parent)
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    return lines[-1] if lines else "it has logged nothing"


_shared: Nursery | None = None


def shared_nursery() -> Nursery:
    """The one of this process."""
    global _shared  # noqa: PLW0603
    if _shared is None:
        _shared = Nursery()
    return _shared


@atexit.register
def close_nursery() -> None:
    global _shared  # noqa: PLW0603
    if _shared is not None and _shared.owner == os.getpid():
        _shared.close()
    _shared = None
