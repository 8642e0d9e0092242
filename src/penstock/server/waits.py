"""Answers that wait: woken by what they wait for, or by their deadline, never by a timer loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.api.handlers.k00_produce_single import Pledge
from penstock.api.outcome import Later
from penstock.server.deadlines import Deadlines
from penstock.world.ports import Part


class Slot:
    """A place in a session's queue of answers; `parts` stays None until the answer is there."""

    __slots__ = ("parts", "waiting")

    def __init__(self) -> None:
        self.parts: list[Part] | None = None
        self.waiting: Waiting | None = None

    def cancel(self) -> None:
        if self.waiting is not None:
            self.waiting.cancel()


class Promise(Slot):
    """A place that is taken by an answer made beforehand, to be given when it has come true."""

    __slots__ = ("_deadlines", "_pledge", "_ready")

    def __init__(self, deadlines: Deadlines, pledge: Pledge, ready: Callable[[], None]) -> None:
        self.parts = self.waiting = None
        self._pledge = pledge
        self._deadlines = deadlines
        self._ready: Callable[[], None] | None = ready
        deadlines.begin(self, pledge.timeout_ms)
        pledge.leader.committed.watch(pledge.end, self)

    def __call__(self) -> None:
        if self._ready is not None and (answer := self._pledge.outcome(False)) is not None:
            self._give(answer)

    def expire(self) -> None:
        if self._ready is not None and (answer := self._pledge.outcome(True)) is not None:
            self._give(answer)

    def _give(self, answer: bytes) -> None:
        ready = self._ready
        self.cancel()
        self.parts = [answer]
        if ready is not None:
            ready()

    def cancel(self) -> None:
        self._ready = None
        self._deadlines.end(self, self._pledge.timeout_ms)


class Waiting:
    """One `Later` in a session's queue of answers. Calling it means: look again."""

    __slots__ = ("_deadlines", "_deliver", "_later", "done")

    def __init__(
        self, deadlines: Deadlines, later: Later[Any], deliver: Callable[[Any], None]
    ) -> None:
        self._later = later
        self._deliver = deliver
        self._deadlines = deadlines
        self.done = False
        deadlines.begin(self, later.wait_ms)
        for source in later.sources:
            source.watch(self)

    def __call__(self) -> None:
        if self.done:
            return
        answer = self._ask(False)
        if answer is None:
            for source in self._later.sources:
                source.watch(self)
        else:
            self._finish(answer)

    def expire(self) -> None:
        if not self.done:
            self._finish(self._ask(True))

    def _ask(self, time_is_up: bool) -> Any:
        """The answer, or the exception that came instead: it must not hit who woke us."""
        try:
            return self._later.answer(time_is_up)
        except Exception as error:
            return error

    def _finish(self, answer: Any) -> None:
        self.cancel()
        self._deliver(answer)

    def cancel(self) -> None:
        self.done = True
        self._deadlines.end(self, self._later.wait_ms)
        for source in self._later.sources:
            source.unwatch(self)
