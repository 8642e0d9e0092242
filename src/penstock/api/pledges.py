"""Appends that are answered for once the high watermark has passed them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar

from penstock.api.outcome import Later, Outcome
from penstock.errors import ErrorCode
from penstock.replication.leader import Leader

R = TypeVar("R")


class Answer(Protocol):
    """What is said of one partition."""

    error_code: int


class Pledge(NamedTuple):
    leader: Leader
    end: int
    answer: Answer


def once_all_committed(pledges: Sequence[Pledge], response: R, wait_ms: int) -> Outcome[R]:
    """The response, in which those that are not committed by then say so."""
    # A repeated batch may be committed already: then nothing is going to wake the wait.
    waiting = [pledge for pledge in pledges if pledge.leader.high_watermark < pledge.end]
    if not waiting:
        return response
    sources = [waiting[-1].leader.reached(waiting[-1].end)]

    def answer(time_is_up: bool) -> R | None:
        """One after the other is waited for: thousands would wake us thousands of times."""
        while waiting:
            leader, end, part = waiting[-1]
            if leader.high_watermark < end:
                if leader.over is not None:
                    part.error_code = leader.over
                elif time_is_up:
                    part.error_code = ErrorCode.REQUEST_TIMED_OUT
                else:
                    sources[0] = leader.reached(end)
                    return None
            waiting.pop()
        return response

    return Later(sources, answer, wait_ms)
