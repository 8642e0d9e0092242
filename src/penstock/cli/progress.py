"""A line on standard error that moves while work is long, if somebody is there to see it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from penstock.cli.output import counted, size_text

if TYPE_CHECKING:
    from rich.status import Status

_QUIET_S = 1.0
"""Work that is done sooner shows nothing."""
_STEP_S = 0.1


class Progress:
    def __init__(self, verb: str, *, typing: bool = False) -> None:
        """Nothing moves under the hands of somebody who is `typing` the input."""
        self._verb = verb
        self._status: Status | None = None
        self._begun_s = time.monotonic()
        is_seen = sys.stderr.isatty() and not typing
        self._next_s = self._begun_s + _QUIET_S if is_seen else float("inf")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def show(self, records: int, size_bytes: int) -> None:
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + _STEP_S
        rate = records / (now_s - self._begun_s)
        words = f"{self._verb} {counted(records, 'record')}, {size_text(size_bytes)}, {rate:.0f}/s"
        if self._status is None:
            from rich.console import Console  # noqa: PLC0415

            self._status = Console(stderr=True).status(words)
            self._status.start()
        self._status.update(words)
