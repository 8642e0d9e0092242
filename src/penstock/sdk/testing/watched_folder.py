"""A temporary folder that is gone after this process, also if that is killed."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

_REMOVE_AT_THE_END = 'read -r _; rm -rf -- "$1"'
"""The end of its input is that of whoever holds the other side, however it came about."""


class WatchedFolder:
    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="penstock-test-"))
        self._watch = subprocess.Popen(  # noqa: S603
            ["/bin/sh", "-c", _REMOVE_AT_THE_END, "sh", str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def remove(self) -> None:
        assert self._watch.stdin is not None
        self._watch.stdin.close()
        self._watch.wait()
