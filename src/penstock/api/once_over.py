"""What comes before the last transaction is over waits for that, instead of being sent away.

Its partitions are being told how it has ended, which takes a few milliseconds. A client that is
answered with CONCURRENT_TRANSACTIONS asks again after twenty, or a hundred.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from penstock.api.outcome import Later, Outcome, Resume
from penstock.errors import ErrorCode, Refused
from penstock.replication.signals import Signal

if TYPE_CHECKING:
    from penstock.api.broker import Broker

R = TypeVar("R")

WAIT_MS_MAX = 1000
NAMES_MAX = 10_000
"""For which someone waits. Beyond that they are sent away."""


class Endings:
    """Of transactions, for those who wait for the next one to begin."""

    __slots__ = ("_awaited",)

    def __init__(self) -> None:
        self._awaited: dict[str, Signal] = {}

    def of(self, name: str) -> Signal | None:
        """None if too many wait already."""
        if name not in self._awaited and len(self._awaited) >= NAMES_MAX:
            self._awaited = {each: signal for each, signal in self._awaited.items() if signal}
            if len(self._awaited) >= NAMES_MAX:
                return None
        return self._awaited.setdefault(name, Signal())

    def over(self, name: str) -> None:
        if (signal := self._awaited.pop(name, None)) is not None:
            signal.fire()


def once_over(broker: Broker, name: str, attempt: Callable[[], Outcome[R]]) -> Outcome[R]:
    """What comes of the attempt, now or then. It must be one that may be made again."""
    try:
        return attempt()
    except Refused as refused:
        if refused.code is not ErrorCode.CONCURRENT_TRANSACTIONS:
            raise
        ended = broker.endings.of(name)
        if ended is None:
            raise

    def look(time_is_up: bool) -> Resume[R]:
        return Resume(_at_once, lambda _: attempt())

    return Later([ended], look, WAIT_MS_MAX)


async def _at_once() -> None:
    pass
