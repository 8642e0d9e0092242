"""Requests that change several things: each item stands for itself, and they share a commit.

As many as a store takes in one commit, that is; more take several.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

from penstock.api.broker import Broker
from penstock.api.outcome import Change, Outcome
from penstock.api.slices import SLICE_ELEMENTS, in_slices
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.metadata.changes import Commit
from penstock.metadata.image import Image
from penstock.metadata.merging import merge
from penstock.metadata.store import OPERATIONS_MAX

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
R = TypeVar("R")

Changes = dict[K, Callable[[Image], Commit[T]]]
Answers = dict[K, T | Refused]

COMMIT_ITEMS_MAX = OPERATIONS_MAX - 10
"""Each has a key of its own, and some that all of them share. Those that have several are fewer."""


def change_each(
    broker: Broker,
    items: Iterable[tuple[K, Callable[[Image], Commit[T]]]],
    respond: Callable[[Mapping[K, T | Refused]], Outcome[R]],
    *,
    validate_only: bool = False,
    keys_each: int = 1,
) -> Outcome[R]:
    """`respond` gets each item's answer, or why it was refused, in the order of the request.

    Each must write something that no other change does, such as a nonce of its own: that is how it
    is told whether a commit was made, should the store fall silent meanwhile.
    An item that comes twice is refused, since nobody can tell which of the two was meant.
    """

    def carry_out(changes: Changes[K, T]) -> Outcome[R]:
        if validate_only:
            return in_slices(broker, _validated(broker, changes), respond)
        at_once = COMMIT_ITEMS_MAX // keys_each
        return _committed(broker, iter(changes.items()), {}, respond, at_once)

    return in_slices(broker, _gathered(items), carry_out)


def _gathered(items: Iterable[tuple[K, Callable[[Image], Commit[T]]]]) -> Steps[Changes[K, T]]:
    changes: Changes[K, T] = {}
    for count, (key, change) in enumerate(items, 1):
        changes[key] = _refuse_repeated if key in changes else change
        if count % SLICE_ELEMENTS == 0:
            yield None
    return changes


def _validated(broker: Broker, changes: Changes[K, T]) -> Steps[Answers[K, T]]:
    answers: Answers[K, T] = {}
    rest = iter(changes.items())
    while batch := dict(islice(rest, COMMIT_ITEMS_MAX)):
        answers.update(_without_frames(merge(broker.image, batch).answer))
        if len(batch) == COMMIT_ITEMS_MAX:
            yield None
    return answers


def _committed(
    broker: Broker,
    rest: Iterator[tuple[K, Callable[[Image], Commit[T]]]],
    answers: Answers[K, T],
    respond: Callable[[Mapping[K, T | Refused]], Outcome[R]],
    at_once: int,
) -> Outcome[R]:
    """One commit after the other, until nothing is left; those that write nothing wait for nothing,
    so there is a pause between them. After one that fails no other is tried."""
    batch = dict(islice(rest, at_once))
    if not batch:
        return respond(answers)

    def then(answered: Answers[K, T]) -> Outcome[R]:
        answers.update(_without_frames(answered))
        if len(batch) < at_once:
            return respond(answers)
        return in_slices(
            broker, _pause(), lambda _: _committed(broker, rest, answers, respond, at_once)
        )

    def otherwise(refused: Refused) -> Outcome[R]:
        refused.__traceback__ = None
        answers.update(dict.fromkeys(batch, refused))
        answers.update((key, refused) for key, _ in rest)
        return respond(answers)

    return Change(lambda image: merge(image, batch), then, otherwise)


def _without_frames(answers: Answers[K, T]) -> Answers[K, T]:
    """What was refused keeps alive all that it was raised in, and the garbage collector would look
    through that again and again."""
    for answer in answers.values():
        if isinstance(answer, Refused):
            answer.__traceback__ = None
    return answers


def _pause() -> Steps[None]:
    yield None


def _refuse_repeated(image: Image) -> Commit[Any]:
    raise Refused(ErrorCode.INVALID_REQUEST, "it comes more than once in this request")


def error_of(answer: object) -> tuple[ErrorCode, str | None]:
    """An item's error code and message, from its answer."""
    if isinstance(answer, Refused):
        return answer.code, answer.message or None
    return ErrorCode.NONE, None
