"""The process that `penstock` commands of tests are forked from, with all that a broker loads.

What is asked comes over a socket. Its end is the end of whoever asked: then all are killed.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
from importlib import import_module
from typing import Any, Never

from penstock.cli.main import main

REQUEST_BYTES = 1 << 20
LOADED_AHEAD = ("penstock.cli.serve", "penstock.node.run", "penstock.metadata.stores.sqlite")
"""What `penstock serve` would load."""


class Parent:
    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._children: set[int] = set()

    def serve(self) -> None:
        while True:
            data, handles, _, _ = socket.recv_fds(self._requests, REQUEST_BYTES, 2)
            if not data:
                return
            self._requests.send(str(self._answer(json.loads(data), handles)).encode())

    def _answer(self, request: dict[str, Any], handles: list[int]) -> int:
        """The number of a new child, or the exit code of one that has ended."""
        if "ended" in request:
            pid, status = os.waitpid(request["ended"], 0)
            self._children.remove(pid)
            return os.waitstatus_to_exitcode(status)
        pid = os.fork()
        if not pid:
            self._requests.close()
            _live(request, handles)
        for handle in handles:
            os.close(handle)
        self._children.add(pid)
        return pid

    def end(self) -> None:
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _live(request: dict[str, Any], handles: list[int]) -> Never:
    """As the command that was asked for."""
    code: Any = 1
    try:
        for place, handle in enumerate(handles, 1):
            os.dup2(handle, place)
            os.close(handle)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        gc.enable()
        main(request["arguments"], prog_name="python -m penstock")
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)


def run() -> None:
    """The argument is the number of the socket."""
    for name in LOADED_AHEAD:
        import_module(name)
    gc.disable()
    gc.freeze()  # or looking for garbage would copy the memory that all share with this process
    parent = Parent(socket.socket(fileno=int(sys.argv[1])))
    try:
        parent.serve()
    finally:
        parent.end()


if __name__ == "__main__":
    run()
