"""What an assignor is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

from penstock.log.steps import Steps

T = TypeVar("T")

Assignment = Mapping[bytes, frozenset[int]]
"""Partitions by topic id; a topic of which there are none is left out."""


class Subscriber(Struct, frozen=True, gc=False):
    member_id: str
    instance_id: str | None
    """Of a static member: it stays the same when the member comes back under a new member id."""
    topics: frozenset[bytes]
    assigned: Assignment
    """What it was to have so far: the last target."""


Assign = Callable[[Sequence[Subscriber], Mapping[bytes, int]], Steps[dict[str, Assignment]]]
"""From the members, and the number of partitions of each topic that exists, to each one's share.

Every member is in the answer. The answer depends on the values alone, not on their order. For ten
thousand members a step takes some milliseconds.
"""
MEMBER_COST = 5
"""Of a member that is looked at, in names of topics (`Pace`)."""


def at_once(steps: Steps[T]) -> T:
    """What they come to, where there are few of them."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
