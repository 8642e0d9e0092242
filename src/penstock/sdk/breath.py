"""When librdkafka is to hear from us, in the middle of messages that were read before.

A look at the clock costs as much as handing out a message. So one thread looks at it for all
consumers of a process, once a second, for as long as there are any.
"""

from __future__ import annotations

import os
import time
from threading import Lock, Thread
from weakref import WeakSet

EVERY_S = 1.0


class Breath:
    def __init__(self) -> None:
        self.is_due = False

    def begin(self) -> None:
        """From now on it falls due."""
        _ticking.add(self)

    def end(self) -> None:
        _ticking.discard(self)


class Ticking:
    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Threads are not there after a fork, nor whoever may have held the lock."""
        self._lock = Lock()
        self._breaths: WeakSet[Breath] = WeakSet()
        self._has_thread = False

    def add(self, breath: Breath) -> None:
        with self._lock:
            self._breaths.add(breath)
            if not self._has_thread:
                Thread(target=self._tick, name="penstock-breath", daemon=True).start()
                self._has_thread = True

    def discard(self, breath: Breath) -> None:
        with self._lock:
            self._breaths.discard(breath)

    def _tick(self) -> None:
        while True:
            time.sleep(EVERY_S)
            with self._lock:
                for each in self._breaths:
                    each.is_due = True
                if not self._breaths:
                    self._has_thread = False
                    return


_ticking = Ticking()
os.register_at_fork(after_in_child=_ticking.forget)
