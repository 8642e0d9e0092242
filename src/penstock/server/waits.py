"""Answers that wait: woken by what they wait for, or by their deadline, never by a timer loop."""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
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
        waiting, self.waiting = self.waiting, None  # or they would hold each other
        if waiting is not None:
            waiting.cancel()


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
    """One `Later` in a session's queue of answers. Calling it means: look again.

    It may stand in line somewhere long after it is done: then it holds nothing any more.
    """

    __slots__ = ("_deadlines", "_deliver", "_later")

    def __init__(
        self, deadlines: Deadlines, later: Later[Any], deliver: Callable[[Any], None]
    ) -> None:
        self._later: Later[Any] | None = later
        self._deliver: Callable[[Any], None] | None = deliver
        self._deadlines = deadlines
        deadlines.begin(self, later.wait_ms)
        for source in later.sources:
            source.watch(self)

    @property
    def is_waiting(self) -> bool:
        return self._later is not None

    def __call__(self) -> None:
        later = self._later
        if later is None:
            return
        answer = _asked(later, False)
        if answer is None:
            for source in later.sources:
                source.watch(self)
        else:
            self._finish(answer)

    def expire(self) -> None:
        if self._later is not None:
            self._finish(_asked(self._later, True))

    def _finish(self, answer: Any) -> None:
        deliver = self._deliver
        self.cancel()
        if deliver is not None:
            deliver(answer)

    def cancel(self) -> None:
        later, self._later, self._deliver = self._later, None, None
        if later is not None:
            self._deadlines.end(self, later.wait_ms)
            for source in later.sources:
                source.unwatch(self)


def _asked(later: Later[Any], time_is_up: bool) -> Any:
    """The answer, or the exception that came instead: it must not hit who woke us."""
    try:
        return later.answer(time_is_up)
    except Exception as error:
        return error


async def awaited(
    loop: AbstractEventLoop,
    deadlines: Deadlines,
    later: Later[Any],
    begin: Callable[[], None] = lambda: None,
) -> Any:
    """The same where no session waits: the answer, or the exception in its place.

    `begin` brings about what is waited for, once it is waited for: that may come true, and wake all
    who stand in line, at once."""
    given: Future[Any] = loop.create_future()

    def give(answer: Any) -> None:
        if not given.done():  # nobody may be waiting any more
            given.set_result(answer)

    waiting = Waiting(deadlines, later, give)
    try:
        begin()
        return await given
    finally:
        waiting.cancel()
