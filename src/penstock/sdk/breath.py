"""When librdkafka is to hear from us, in the middle of messages that were read before.

A look at the clock costs as much as handing out a message. So one thread looks at it for all
consumers of a process, once a second, for as long as there are any.
"""

from __future__ import annotations

import time
from threading import Lock, Thread
from weakref import WeakSet

EVERY_S = 1.0


class Breath:
    def __init__(self) -> None:
        self.is_due = False

    def begin(self) -> None:
        """From now on it falls due."""
        with _lock:
            is_first = not _breaths
            _breaths.add(self)
        if is_first:
            Thread(target=_tick, name="penstock-breath", daemon=True).start()

    def end(self) -> None:
        with _lock:
            _breaths.discard(self)


_lock = Lock()
_breaths: WeakSet[Breath] = WeakSet()


def _tick() -> None:
    while True:
        time.sleep(EVERY_S)
        with _lock:
            for each in _breaths:
                each.is_due = True
            if not _breaths:
                return
