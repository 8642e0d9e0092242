"""Looking at topics, and asking of what was seen, while they lose partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from penstock.client.errors import ClientError

LOOKS_MAX = 3

S = TypeVar("S")
T = TypeVar("T")


def asked_of(look: Callable[[], S], ask: Callable[[S], T]) -> T:
    """What is told of what is there. Where something of it went before it was asked of, all is
    looked at again, as it is now; `look` has to forget what it knew."""
    for _ in range(LOOKS_MAX - 1):
        seen = look()
        try:
            return ask(seen)
        except ClientError as error:
            if not error.is_missing:
                raise
    return ask(look())
