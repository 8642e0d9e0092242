"""Requests that change several things: each item stands for itself, and all cost one commit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

from penstock.api.broker import Broker
from penstock.api.outcome import Change, Outcome
from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit
from penstock.metadata.image import Image
from penstock.metadata.merging import merge

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
R = TypeVar("R")


def change_each(
    broker: Broker,
    items: Iterable[tuple[K, Callable[[Image], Commit[T]]]],
    respond: Callable[[Mapping[K, T | Refused]], R],
    *,
    validate_only: bool = False,
) -> Outcome[R]:
    """`respond` gets each item's answer, or why it was refused, in the order of the request.

    An item that comes twice is refused, since nobody can tell which of the two was meant.
    """
    changes: dict[K, Callable[[Image], Commit[T]]] = {}
    for key, change in items:
        changes[key] = _refuse_repeated if key in changes else change
    if validate_only:
        return respond(merge(broker.image, changes).answer)
    return Change(lambda image: merge(image, changes), respond)


def _refuse_repeated(image: Image) -> Commit[Any]:
    raise Refused(ErrorCode.INVALID_REQUEST, "it comes more than once in this request")


def error_of(answer: object) -> tuple[ErrorCode, str | None]:
    """An item's error code and message, from its answer."""
    if isinstance(answer, Refused):
        return answer.code, answer.message or None
    return ErrorCode.NONE, None
