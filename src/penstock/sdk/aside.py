"""Calls of librdkafka that know no limit of time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

from penstock.sdk.errors import TimedOut

T = TypeVar("T")


class Aside:
    """Made in a thread of their own, one after the other, while the caller waits for as long as it
    wants to, and hears signals. What takes longer goes on, and later calls wait behind it."""

    def __init__(self) -> None:
        self._last: Thread | None = None

    @property
    def is_busy(self) -> bool:
        return self._last is not None and self._last.is_alive()

    def begin(self, call: Callable[[], T]) -> Future[T]:
        """What comes of it may be looked at later, or never."""
        outcome: Future[T] = Future()
        thread = Thread(target=_carry_out, args=(self._last, call, outcome), daemon=True)
        self._last = thread
        thread.start()
        return outcome

    def run(self, what: str, limit_s: float, call: Callable[[], T]) -> T:
        try:
            return self.begin(call).result(limit_s)
        except TimeoutError:
            raise TimedOut(
                f"{what} was not done in {limit_s:.0f} s and may still be: look whether the "
                "brokers are up, or allow more time with Consumer(timeout=...)"
            ) from None


def _carry_out(before: Thread | None, call: Callable[[], T], outcome: Future[T]) -> None:
    if before:
        before.join()
    try:
        outcome.set_result(call())
    except BaseException as error:
        outcome.set_exception(error)
