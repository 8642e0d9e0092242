"""An answer that waits: woken by what it waits for, or by its deadline, never by a timer loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from penstock.api.outcome import Later


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
