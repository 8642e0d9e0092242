"""What happened in a run, as a hash to compare runs by, and its last lines to look at."""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from typing import Any
from zlib import crc32

LAST_LINES = 2000


class Trace:
    def __init__(self) -> None:
        self.hash = 0
        self.count = 0
        self.last: deque[str] = deque(maxlen=LAST_LINES)

    def add(self, line: str) -> None:
        self.hash = crc32(line.encode(), self.hash)
        self.count += 1
        self.last.append(line)


def name_of(callback: Any) -> str:
    """The code that a callback runs, by its name; of a task's step the task's coroutine."""
    while isinstance(callback, partial):
        callback = callback.func
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return getattr(owner.get_coro(), "__qualname__", "a task")
    return str(getattr(callback, "__qualname__", type(callback).__name__))
