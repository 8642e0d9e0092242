"""The process that brokers for tests are forked from, so that none of them has to load anything.

Requests come in on standard input, one JSON object a line, and each is answered on standard output.
The end of the input is the end of whoever asked, however it came about: then all brokers are
killed, and their folder is removed.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import select
import shutil
import signal
import sys
import time
from contextlib import suppress
from typing import Any

from penstock.metadata.stores import sqlite
from penstock.node import run

READY = "penstock ready: broker "
READY_S_MAX = 60.0
STOP_S_MAX = 30.0
LOOK_S = 0.002
_PR_SET_PDEATHSIG = 1

LOADED_AHEAD = (sqlite,)
"""What a broker would load when it starts."""


class Nursery:
    def __init__(self) -> None:
        self._outputs: dict[int, int] = {}
        """By process id: where a broker's standard output can be read."""

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        match request:
            case {"start": texts, "log": log}:
                return self._start(texts, log)
            case {"end": pid, "signal": number}:
                return {"code": self._end(pid, number)}
            case {"look": pid}:
                return {"is_running": self._is_running(pid)}
        return {"error": f"not understood: {request}"}

    def _start(self, texts: dict[str, str], log: str) -> dict[str, Any]:
        output, input_ = os.pipe()
        nursery = os.getpid()
        pid = os.fork()
        if not pid:
            os.close(output)
            _live(nursery, texts, input_, log)
        os.close(input_)
        self._outputs[pid] = output
        line = _first_line(output)
        if line.startswith(READY):
            return {"pid": pid, "port": int(line.rpartition(":")[2])}
        self._end(pid, signal.SIGKILL)
        return {"error": "the broker did not start"}

    def _is_running(self, pid: int) -> bool:
        if pid in self._outputs and os.waitpid(pid, os.WNOHANG)[0]:
            self._forget(pid)
        return pid in self._outputs

    def _end(self, pid: int, number: int) -> int:
        """The exit code; 0 of one that is not there any more."""
        if pid not in self._outputs:
            return 0
        os.kill(pid, number)
        give_up_s = time.monotonic() + STOP_S_MAX
        while True:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self._forget(pid)
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > give_up_s:
                os.kill(pid, signal.SIGKILL)
            time.sleep(LOOK_S)

    def _forget(self, pid: int) -> None:
        os.close(self._outputs.pop(pid))

    def close(self) -> None:
        for pid in list(self._outputs):
            self._end(pid, signal.SIGKILL)


def _live(nursery: int, texts: dict[str, str], output: int, log: str) -> None:
    """As a broker; never returns."""
    code = 1
    try:
        _die_with(nursery)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        lines = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for source, place in ((nothing, 0), (output, 1), (lines, 2)):
            os.dup2(source, place)
        code = run.serve(texts)
    finally:
        with suppress(OSError):
            sys.stderr.flush()
        os._exit(code)


def _die_with(nursery: int) -> None:
    """Even if that is killed. Only Linux can do so."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != nursery:
        os._exit(1)


def _first_line(output: int) -> str:
    """Empty if it does not come in time."""
    line = b""
    give_up_s = time.monotonic() + READY_S_MAX
    while not line.endswith(b"\n"):
        if not select.select([output], [], [], max(0.0, give_up_s - time.monotonic()))[0]:
            return ""
        if not (more := os.read(output, 4096)):
            return ""
        line += more
    return line.decode()


def main() -> None:
    """The argument is the folder that the brokers have their data in."""
    gc.disable()
    gc.freeze()  # or looking for garbage would copy the memory that brokers share with this process
    folder = sys.argv[1]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    nursery = Nursery()
    try:
        for line in sys.stdin:
            sys.stdout.write(json.dumps(nursery.answer(json.loads(line))) + "\n")
            sys.stdout.flush()
    finally:
        nursery.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
