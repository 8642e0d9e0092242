"""Answers of coordinators, which wait until what they rest on is committed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.api.outcome import Later, Outcome
from penstock.errors import ErrorCode, Refused
from penstock.replication.signals import Waiter

if TYPE_CHECKING:
    from penstock.api.shard import Shard

R = TypeVar("R")

COMMIT_MS_MAX = 5_000
"""How long an answer waits for the events that it rests on."""
LATE = ErrorCode.COORDINATOR_NOT_AVAILABLE
"""What is said after that, unless all clients know a better word."""
ROUND_MS_MAX = 3_600_000
"""How long it waits for others: the group's own timeouts end that long before."""


class Rest:
    """What an answer rests on: the events of a shard up to an end."""

    __slots__ = ("end", "shard")

    def __init__(self, shard: Shard[Any], end: int) -> None:
        self.shard = shard
        self.end = end

    @property
    def is_committed(self) -> bool:
        shard = self.shard
        if shard.leader.high_watermark < self.end or shard.is_over:
            return False
        return not shard.is_cut_off()

    def check(self, time_is_up: bool, late: ErrorCode = LATE) -> None:
        """Refuse when it is not going to be committed here, or not in time."""
        shard = self.shard
        if shard.is_over or shard.leader.over is not None or shard.is_cut_off():
            raise not_here_any_more()
        if time_is_up:
            raise Refused(late, "what the answer rests on is not committed yet")


def once_committed(rests: Sequence[Rest], answer: R, late: ErrorCode = LATE) -> Outcome[R]:
    """The answer, given when all that it rests on is committed; `late` if that takes too long."""
    waiting = [rest for rest in rests if not rest.is_committed]
    if not waiting:
        return answer
    for rest in waiting:
        rest.shard.check_lease()  # nothing would wake who waits for that

    def look(time_is_up: bool) -> R | None:
        for rest in waiting:
            if not rest.is_committed:
                rest.check(time_is_up, late)
                return None
        return answer

    sources = [rest.shard.leader.reached(rest.end) for rest in waiting]
    return Later(sources, look, COMMIT_MS_MAX)


class Parked:
    """A request whose answer another one brings about. Its session watches it."""

    __slots__ = ("_answer", "_rest", "_waiter")

    def __init__(self) -> None:
        self._answer: Any = None
        self._rest: Rest | None = None
        self._waiter: Waiter | None = None

    def give(self, answer: Any, rest: Rest) -> None:
        self._answer, self._rest = answer, rest
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            waiter()

    def watch(self, waiter: Waiter) -> None:
        if self._rest is None:
            self._waiter = waiter
        else:
            self._rest.shard.leader.committed.watch(self._rest.end, waiter)

    def unwatch(self, waiter: Waiter) -> None:
        self._waiter = None

    def outcome(self) -> Outcome[Any]:
        if self._rest is not None:  # it was the one that the others waited for
            return once_committed([self._rest], self._answer)
        return Later([self], self._look, ROUND_MS_MAX)

    def _look(self, time_is_up: bool) -> Any:
        rest = self._rest
        if rest is None:
            if time_is_up:
                raise Refused(ErrorCode.REBALANCE_IN_PROGRESS, "the others did not come")
            return None
        if rest.is_committed:
            return self._answer
        rest.check(time_is_up)
        return None


def not_here_any_more() -> Refused:
    return Refused(ErrorCode.NOT_COORDINATOR, "another may look after the group now; ask who does")
