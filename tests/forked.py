"""`penstock` commands that need not be loaded again each time: the way to `forked_process`."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ANSWER_BYTES = 1000


class Parent:
    """The process that they are forked from. They are killed when it or this process ends."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._turn = threading.Lock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.forked_process", str(theirs.fileno())],
                cwd=ROOT,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def ask(self, request: Mapping[str, Any], handles: Sequence[int] = ()) -> int:
        with self._turn:
            socket.send_fds(self._socket, [json.dumps(request).encode()], handles)
            answer = self._socket.recv(ANSWER_BYTES)
        assert answer, "the process that brokers are forked from has ended"
        return int(answer)

    def end(self) -> None:
        self._socket.close()
        self._process.wait(60)


_parents: list[Parent] = []


def _parent() -> Parent:
    if not _parents or _parents[-1].owner != os.getpid():
        _parents.append(Parent())
    return _parents[-1]


@atexit.register
def _end() -> None:
    for each in _parents:
        if each.owner == os.getpid():
            each.end()


class Forked:
    """One command. It can do what a `Popen` can, as far as that is needed here."""

    def __init__(
        self, arguments: Sequence[str], *, stderr: int, env: Mapping[str, str] = os.environ
    ) -> None:
        self._parent = _parent()
        output, theirs = os.pipe()
        request = {"arguments": list(arguments), "environment": dict(env), "folder": os.getcwd()}
        self.pid = self._parent.ask(request, [theirs, stderr])
        os.close(theirs)
        self.stdout = os.fdopen(output)
        self.returncode: int | None = None
        self._handle = os.pidfd_open(self.pid)

    def send_signal(self, number: signal.Signals) -> None:
        """While nobody has asked how it ended, its number is not given to another."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def wait(self, timeout: float) -> int:
        if self.returncode is None:
            if not select.select([self._handle], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"penstock {self.pid}", timeout)
            self.returncode = self._parent.ask({"ended": self.pid})
            os.close(self._handle)
        return self.returncode
