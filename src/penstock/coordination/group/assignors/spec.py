"""What an assignor is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Assignment = Mapping[bytes, frozenset[int]]
"""Partitions by topic id; a topic of which there are none is left out."""


@dataclass(frozen=True, slots=True)
class Subscriber:
    member_id: str
    instance_id: str | None
    """Of a static member: it stays the same when the member comes back under a new member id."""
    topics: frozenset[bytes]
    assigned: Assignment
    """What it was to have so far: the last target."""


Assign = Callable[[Sequence[Subscriber], Mapping[bytes, int]], dict[str, Assignment]]
"""From the members, and the number of partitions of each topic that exists, to each one's share.

Every member is in the answer. The answer depends on the values alone, not on their order.
"""
