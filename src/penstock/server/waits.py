"""Answers that wait: woken by what they wait for, or by their deadline, never by a timer loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from penstock.api.handlers.k00_produce_single import Pledge
from penstock.api.outcome import Later
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

    __slots__ = ("_give", "_pledge", "_timer")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        pledge: Pledge,
        give: Callable[[Promise, bytes], None],
    ) -> None:
        self.parts = self.waiting = None
        self._pledge = pledge
        self._give: Callable[[Promise, bytes], None] | None = give
        self._timer = loop.call_later(pledge.timeout_ms / 1000, self._look, True)
        pledge.leader.committed.watch(pledge.end, self)

    def __call__(self) -> None:
        self._look(False)

    def _look(self, time_is_up: bool) -> None:
        if self._give is None:
            return
        answer = self._pledge.outcome(time_is_up)
        if answer is not None:
            give = self._give
            self.cancel()
            give(self, answer)

    def cancel(self) -> None:
        self._give = None
        self._timer.cancel()


class Waiting:
    """One `Later` in a session's queue of answers. Calling it means: look again."""

    __slots__ = ("_deliver", "_later", "_timer", "done")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        later: Later[Any],
        deliver: Callable[[Any], None],
    ) -> None:
        self._later = later
        self._deliver = deliver
        self.done = False
        self._timer = loop.call_later(later.wait_ms / 1000, self._expire)
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

    def _expire(self) -> None:
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
        self._timer.cancel()
        for source in self._later.sources:
            source.unwatch(self)
