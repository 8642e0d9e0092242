"""What has become of records that a share group is given, as it is stored and sent: in stretches.

Five messages and records carry such stretches, each with a class of its own; here they are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import NamedTuple, Protocol, TypeVar


class Delivery(IntEnum):
    """As Kafka numbers them. That a record is acquired is not stored."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4


STORED = frozenset({Delivery.AVAILABLE, Delivery.ACKNOWLEDGED, Delivery.ARCHIVED})
FINISHED = frozenset({Delivery.ACKNOWLEDGED, Delivery.ARCHIVED})
"""Nobody is given them any more."""


class StateBatch(NamedTuple):
    """Records in a row that are in one state and were delivered as often."""

    first: int
    last: int
    state: int
    deliveries: int
    rejected_after: int = 0
    """So many deliveries, if a member has rejected them: they are on their way to the dead letters.
    A tagged field of ours."""


class _Generated(Protocol):
    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int
    rejected_after: int


G = TypeVar("G")


def read_batches(batches: Iterable[_Generated]) -> list[StateBatch]:
    return [
        StateBatch(
            each.first_offset,
            each.last_offset,
            each.delivery_state,
            each.delivery_count,
            each.rejected_after,
        )
        for each in batches
    ]


def written_batches(
    kind: Callable[[int, int, int, int, int], G], batches: Iterable[StateBatch]
) -> list[G]:
    return [kind(*each) for each in batches]
