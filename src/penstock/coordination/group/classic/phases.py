"""The phases of a group of the classic protocol, and how one leads to another."""

from __future__ import annotations

from enum import Enum


class Phase(Enum):
    """With the names that Kafka's tools show."""

    EMPTY = "Empty"
    """No members; committed offsets may be left."""
    JOINING = "PreparingRebalance"
    """Waits for every member to join, or for the time to be up."""
    SYNCING = "CompletingRebalance"
    """Everyone has joined; waits for the leader's plan."""
    STABLE = "Stable"
    """Everyone can have its part of the plan."""


MOVES = {
    Phase.EMPTY: frozenset({Phase.JOINING}),
    Phase.JOINING: frozenset({Phase.SYNCING, Phase.EMPTY}),
    Phase.SYNCING: frozenset({Phase.STABLE, Phase.JOINING}),
    Phase.STABLE: frozenset({Phase.JOINING}),
}
"""The diagram in docs/states is drawn from this. A group that is deleted is gone, in any phase."""
