"""Long answers, made and encoded a slice at a time, with everything else in between.

A handler runs whole, so an answer of a hundred thousand elements would hold up every connection for
as long as it takes to make it; and its elements would take many times the memory of their bytes.
Such answers are made by steps (`log/steps.py`) that write each element as soon as it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from penstock.api.broker import Broker
from penstock.api.outcome import Outcome, Resume
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps, Wait
from penstock.wire.codec import Sink

T = TypeVar("T")
R = TypeVar("R")

SLICE_BYTES = 32 << 10
SLICE_ELEMENTS = 500
"""Between two pauses, of elements that take some microseconds each: a few milliseconds."""
SLICE_HEAVY = 20
"""Of elements for which a log may have to be opened, or all settings of something looked up."""
ANSWER_BYTES_MAX = 32 << 20
"""Of lists that nothing else bounds; Metadata for about a million partitions."""


class Element(Protocol):
    def write(self, out: Sink, version: int) -> None: ...


class Writing:
    """A list of an answer, its elements encoded already. It stands in the message in their place:
    a message asks a list for its length, then lets each of its elements write itself."""

    __slots__ = (
        "_at_once",
        "_before",
        "_count",
        "_out",
        "_paused_bytes",
        "_paused_count",
        "_version",
    )

    def __init__(
        self, version: int, *, inside: Writing | None = None, at_once: int = SLICE_ELEMENTS
    ) -> None:
        """`inside`: the list that an element with this one in it is for."""
        self._version = version
        self._at_once = at_once
        self._before = inside.size if inside is not None else 0
        self._out = Sink()
        self._count = self._paused_count = self._paused_bytes = 0

    @property
    def size(self) -> int:
        return self._before + len(self._out)

    def check_room(self) -> None:
        if self.size > ANSWER_BYTES_MAX:
            raise Refused(
                ErrorCode.POLICY_VIOLATION,
                f"the answer is larger than {ANSWER_BYTES_MAX} bytes; ask for less at a time",
            )

    def add(self, element: Element) -> bool:
        """Whether it is time for a pause."""
        element.write(self._out, self._version)
        self._count += 1
        if (
            self._count - self._paused_count < self._at_once
            and len(self._out) - self._paused_bytes < SLICE_BYTES
        ):
            return False
        self._paused_count, self._paused_bytes = self._count, len(self._out)
        return True

    def add_all(self, elements: Iterable[Element]) -> Steps[None]:
        """They are made as they are asked for, so what they are made from must stay as it is.
        Refused if there are too many of them."""
        for element in elements:
            if self.add(element):
                self.check_room()
                yield None
        self.check_room()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Writing]:
        yield self

    def write(self, out: Sink, version: int) -> None:
        out += self._out


def in_slices(broker: Broker, steps: Steps[T], then: Callable[[T], Outcome[R]]) -> Outcome[R]:
    """The first slice is made at once, and is all of it where the answer is small."""
    try:
        wait = next(steps)
    except StopIteration as end:
        return then(end.value)
    return Resume(lambda: broker.in_steps(going_on(wait, steps)), then)


def going_on(wait: Wait, steps: Steps[T]) -> Steps[T]:
    """What steps do once there was a wait."""
    yield wait
    return (yield from steps)


def written(
    version: int,
    elements: Iterable[Element],
    *,
    inside: Writing | None = None,
    at_once: int = SLICE_ELEMENTS,
) -> Steps[Any]:
    """A list for an answer, of all these elements."""
    writing = Writing(version, inside=inside, at_once=at_once)
    yield from writing.add_all(elements)
    return writing
