"""How long the loop of a broker is held: `python -m bench.holds OUT -m penstock serve ...`.

The broker runs as ever, and looks at the clock every millisecond. On SIGUSR1 it writes to OUT how
late the latest of those looks was since the last time, and how long the longest collection of
garbage took. What counts is time on the processor: others on the machine hold up a broker too.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import runpy
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import uvloop

LOOK_S = 0.001


class Watch:
    def __init__(self) -> None:
        self.held_ms = 0.0
        self.collecting_ms = 0.0
        self._collecting_since = 0.0
        gc.callbacks.append(self._collecting)

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._await()

    def _await(self) -> None:
        self._due, self._spent = time.monotonic() + LOOK_S, time.thread_time()
        self._loop.call_later(LOOK_S, self._look)

    def _look(self) -> None:
        late = time.monotonic() - self._due
        self.held_ms = max(self.held_ms, 1000 * min(late, time.thread_time() - self._spent))
        self._await()

    def _collecting(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._collecting_since = time.thread_time()
        else:
            took_ms = 1000 * (time.thread_time() - self._collecting_since)
            self.collecting_ms = max(self.collecting_ms, took_ms)

    def write(self, out: Path) -> None:
        draft = out.with_suffix(".draft")
        draft.write_text(json.dumps([self.held_ms, self.collecting_ms]))
        os.replace(draft, out)
        self.held_ms = self.collecting_ms = 0.0


def main(out: Path, arguments: list[str]) -> None:
    watch = Watch()
    new_loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop

    def watched_loop() -> asyncio.AbstractEventLoop:
        loop = new_loop()
        loop.call_soon(watch.begin, loop)
        loop.add_signal_handler(signal.SIGUSR1, watch.write, out)
        return loop

    uvloop.new_event_loop = watched_loop  # type: ignore[assignment]
    sys.argv = arguments
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[3:])
