"""What a handler may return. Handlers never await: the session carries these out for them.

- an answer;
- `Later`: the step is done, its answer waits, the following requests run (acks=all, long polls);
- `Resume`: the step itself must wait for work off the loop (a cold read, compression), and so do
  the following requests of this connection, or a pipelined producer would lose its order;
- `Change`: a change of cluster metadata, decided on the current image, answered once it is there;
- `NO_ANSWER`: nothing is sent (acks=0).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from penstock.errors import Refused
from penstock.metadata.changes import Commit
from penstock.metadata.image import Image
from penstock.replication.signals import Source

R = TypeVar("R")


class NoAnswer:
    """The type of NO_ANSWER."""


NO_ANSWER = NoAnswer()


@dataclass(slots=True)
class Later(Generic[R]):
    sources: Sequence[Source]
    """Each wakes the wait once; after that `answer` is asked, and says what to wait for next."""
    answer: Callable[[bool], R | Resume[R] | None]
    """Called with whether the time is up. None, only before that: wait on."""
    wait_ms: int
    is_poll: bool = False
    """It waits for more than there is, so it can end at any time, as if that were up."""


@dataclass(slots=True)
class Resume(Generic[R]):
    work: Callable[[], Awaitable[Any]]
    then: Callable[[Any], Outcome[R]]


@dataclass(slots=True)
class Change(Generic[R]):
    decide: Callable[[Image], Commit[Any]]
    then: Callable[[Any], Outcome[R]]
    """Gets the commit's answer, or is called with the Refused that `decide` raised."""
    otherwise: Callable[[Refused], Outcome[R]] | None = None
    """Asked where the commit was not made, or nobody knows; without it all of the request fails."""


Outcome: TypeAlias = "R | Later[R] | Resume[R] | Change[R] | NoAnswer"
