"""How often clients with transactions do what makes them hard to serve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.wire.codec import Message


@dataclass(frozen=True, slots=True)
class Habits:
    """Each is a chance between 0 and 1."""

    late: float = 0.03
    """A request, or its answer, takes so long that it is given up, and asked again over another
    connection."""
    late_of: Mapping[type[Message], float] = field(default_factory=dict)
    """The same for some requests."""
    late_s: tuple[float, float] = (0.001, 3.0)
    """Between these it takes, mostly little."""
    aborts: float = 0.25
    gives_up: float = 0.3
    """Of records and offsets that are given up: it aborts, and does not ask again."""
    crashes: float = 0.05
    """In each transaction: another producer begins with its id."""
    zombies: float = 0.4
    """Of those: it goes on all the same."""
    sleeps: float = 0.04
    """In a transaction, for longer than that may take."""
    pause_s: float = 0.3
    """At most, between two steps."""
