"""Virtual time, and the order of everything that happens in it, drawn from one seed.

Nothing here waits: when nothing is ready, time jumps to the next timer. What is ready at the same
time runs in any order, since the broker must not depend on one that the machine happens to keep.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from itertools import count
from random import Random
from typing import TYPE_CHECKING

from penstock.sim.watchdog import Stuck

if TYPE_CHECKING:
    from penstock.sim.loop import Handle, VirtualLoop
    from penstock.sim.trace import Trace

ROUND_S = 20e-6
"""What one round of callbacks takes, so that waiting in circles comes to an end."""


CALLBACKS_MAX = 2_000_000
"""No run needs a tenth of that."""


class Failed(Exception):
    """The run has shown something that must not be."""


class Endless(Failed):
    """It does not come to its end."""


class Scheduler:
    def __init__(self, seed: int, trace: Trace | None = None) -> None:
        self.seed = seed
        self.now_s = 0.0
        self.callbacks = 0
        self.trace = trace
        self.is_over = False
        """What is taken apart afterwards may still have its say, to nobody."""
        self.failures: list[str] = []
        self._random = self.chance("order").random
        self._ready: list[Handle] = []
        self._timers: list[tuple[float, int, Handle]] = []
        self._numbers = count()
        self._running: VirtualLoop | None = None

    def chance(self, purpose: str) -> Random:
        """A source of its own for each purpose: more draws for one leave the others as they are."""
        return Random(f"{self.seed}/{purpose}")  # noqa: S311

    @property
    def running_name(self) -> str:
        """Of the process whose callback runs."""
        return self._running.name if self._running is not None else "nobody"

    def note(self, line: str) -> None:
        if self.trace is not None and not self.is_over:
            self.trace.add(f"{self.now_s:.6f} {line}")

    def fail(self, reason: str) -> None:
        self.note(f"failed: {reason}")
        self.failures.append(reason)

    def soon(self, handle: Handle) -> None:
        self._ready.append(handle)

    def later(self, handle: Handle, when_s: float) -> None:
        heapq.heappush(self._timers, (when_s, next(self._numbers), handle))

    def run(self, is_over: Callable[[], bool], limit_s: float) -> None:
        """Until it is over; raises Failed at the first failure, or if that never comes to be."""
        try:
            while not is_over():
                if not self._wake_timers():
                    raise Endless("nothing is left that could happen, and the run is not over")
                if self.now_s > limit_s:
                    raise Endless(f"the run is not over after {limit_s} virtual seconds")
                if self.callbacks > CALLBACKS_MAX:
                    raise Endless(f"the run is not over after {CALLBACKS_MAX} callbacks")
                self._round()
                if self.failures:
                    raise Failed(self.failures[0])
        finally:
            self._enter(None)

    def _wake_timers(self) -> bool:
        """Whether anything is ready, be it that time had to jump for it."""
        timers = self._timers
        if not self._ready:
            while timers and timers[0][2].cancelled():
                heapq.heappop(timers)
            if not timers:
                return False
            self.now_s = max(self.now_s, timers[0][0])
        while timers and timers[0][0] <= self.now_s:
            self._ready.append(heapq.heappop(timers)[2])
        return True

    def _round(self) -> None:
        """Everything that is ready now; what that makes ready belongs to the next round."""
        ready, self._ready = self._ready, []
        random = self._random
        for left in range(len(ready), 0, -1):
            chosen = int(random() * left) if left > 1 else 0
            handle = ready[chosen]
            ready[chosen] = ready[left - 1]
            self._call(handle)
        self.now_s += ROUND_S

    def _call(self, handle: Handle) -> None:
        loop = handle.loop
        if handle.is_cancelled or loop.keeps(handle):
            return
        self.callbacks += 1
        if self._running is not loop:
            self._enter(loop)
        if self.trace is not None:
            self.note(f"{loop.name} {handle.told()}")
        try:
            handle.run()
        except BaseException as problem:
            self._raised(loop, handle, problem)

    def _enter(self, loop: VirtualLoop | None) -> None:
        self._running = loop
        asyncio._set_running_loop(loop)

    def _raised(self, loop: VirtualLoop, handle: Handle, problem: BaseException) -> None:
        """Who is killed in the middle of something has no say any more."""
        if isinstance(problem, Stuck):
            raise problem
        if loop.is_dead:
            return
        if not isinstance(problem, Exception):
            raise problem
        self.fail(f"{loop.name}: {handle.told()} raised {problem!r}")
