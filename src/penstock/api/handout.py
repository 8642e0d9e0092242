"""Answers that one turn has for many, handed out some at a time.

The end of a round may have one for each of ten thousand members. All of them are decided in that
turn, so they fit together whatever happens next; but each wakes a session, and to wake them all in
one go would hold up everyone else. They wait here, and for what they rest on to be committed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from penstock.api.replies import Parked, Rest
from penstock.coordination.pace import Pace
from penstock.coordination.turn import Answer, Answers

GIVE_COST = 8
"""Of an answer that is given, in the unit of `Pace`."""
AT_ONCE_MAX = 200
"""Answers of a turn that need not wait here: one or two milliseconds."""


class Decided(NamedTuple):
    """In one turn: what is left of it to be given."""

    answers: Iterator[Answer]
    rest: Rest


class Handout:
    """What the requests that wait in one shard are given."""

    __slots__ = ("_is_awaited", "_line", "_parked", "_wake")

    def __init__(self, wake: Callable[[], None]) -> None:
        """`wake` is called when there is something to give."""
        self._wake = wake
        self._parked: dict[Parked, None] = {}
        self._line: deque[Decided] = deque()
        self._is_awaited = False

    def park(self, reply: Parked) -> None:
        """A request that waits for others."""
        self._parked[reply] = None

    def add(self, answers: Answers, rest: Rest) -> None:
        """Where they are few, they are given at once, and wait by themselves to be committed."""
        if len(answers) <= AT_ONCE_MAX:
            for each in answers:
                self._give(each, rest)
        else:
            self._line.append(Decided(iter(answers), rest))
            self._wake()

    def _give(self, given: Answer, rest: Rest) -> None:
        reply, answer = given
        assert isinstance(reply, Parked)
        self._parked.pop(reply, None)
        reply.give(answer, rest)

    def go_on(self, pace: Pace) -> bool:
        """Give what is committed, in order; True if there is more of it than there was time for."""
        line = self._line
        while line and self._is_committed(line[0].rest):
            answers, rest = line[0]
            for each in answers:
                self._give(each, rest)
                if pace.is_spent(GIVE_COST):
                    return True
            line.popleft()
        return False

    def _is_committed(self, rest: Rest) -> bool:
        if rest.is_committed:
            return True
        if not self._is_awaited:
            self._is_awaited = True
            rest.shard.leader.committed.watch(rest.end, self._is_reached)
        return False

    def _is_reached(self) -> None:
        self._is_awaited = False
        if self._line:
            self._wake()

    def drop(self, rest: Rest) -> None:
        """Nobody here will be given anything: who waits is to look at what it rests on."""
        self._line.clear()
        parked, self._parked = self._parked, {}
        for reply in parked:
            reply.give(None, rest)
