"""The states of a record in a share group, and which may follow which; the docs draw it."""

from __future__ import annotations

from enum import Enum

from penstock.wire.delivery import Delivery


class Phase(Enum):
    AVAILABLE = "Available"
    ACQUIRED = "Acquired"
    WAITING = "Waiting"
    """It was given back, and is given to nobody for a while."""
    BURYING = "Burying"
    """It is given to nobody any more, and is on its way to the dead letters."""
    ACKNOWLEDGED = "Acknowledged"
    ARCHIVED = "Archived"

    __hash__ = object.__hash__  # by name it costs as much as all else that is done with a span


FINISHED = frozenset({Phase.ACKNOWLEDGED, Phase.ARCHIVED})
"""Nobody has anything to do with it any more."""
TIMED = frozenset({Phase.ACQUIRED, Phase.WAITING})
"""It does not stay so for longer than was said."""

MOVES: dict[Phase, frozenset[Phase]] = {
    Phase.AVAILABLE: frozenset({Phase.ACQUIRED, Phase.BURYING, Phase.ARCHIVED}),
    Phase.ACQUIRED: frozenset(
        {Phase.AVAILABLE, Phase.WAITING, Phase.ACKNOWLEDGED, Phase.BURYING, Phase.ARCHIVED}
    ),
    Phase.WAITING: frozenset({Phase.AVAILABLE}),
    Phase.BURYING: frozenset({Phase.ARCHIVED}),
    Phase.ACKNOWLEDGED: frozenset(),
    Phase.ARCHIVED: frozenset(),
}

STORED: dict[Phase, Delivery] = {
    Phase.AVAILABLE: Delivery.AVAILABLE,
    Phase.ACQUIRED: Delivery.AVAILABLE,
    Phase.WAITING: Delivery.AVAILABLE,
    Phase.BURYING: Delivery.AVAILABLE,
    Phase.ACKNOWLEDGED: Delivery.ACKNOWLEDGED,
    Phase.ARCHIVED: Delivery.ARCHIVED,
}
"""What the next leader finds. Locks and pauses end with their leader; what was not buried yet is
known by its count, which has reached the limit, and by whether it was rejected."""

LOADED: dict[int, Phase] = {
    Delivery.AVAILABLE: Phase.AVAILABLE,
    Delivery.ACKNOWLEDGED: Phase.ACKNOWLEDGED,
    Delivery.ARCHIVED: Phase.ARCHIVED,
}
