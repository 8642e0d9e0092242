"""How often clients with transactions do what makes them hard to serve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.wire.codec import Message
from penstock.wire.messages.k00_produce import ProduceRequest
from penstock.wire.messages.k24_add_partitions_to_txn import AddPartitionsToTxnRequest
from penstock.wire.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from penstock.wire.messages.k26_end_txn import EndTxnRequest
from penstock.wire.messages.k28_txn_offset_commit import TxnOffsetCommitRequest


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


_OFTEN = 0.3
_QUICK = (0.0005, 0.3)
"""In seconds: about as long as it takes until the next transaction is under way."""

LATE_END = Habits(late_of={EndTxnRequest: _OFTEN}, late_s=_QUICK, aborts=0.5, pause_s=0.05)
LATE_PRODUCE = Habits(
    late_of={ProduceRequest: _OFTEN}, late_s=(0.0005, 0.05), gives_up=0.8, pause_s=0.02
)
LATE_ADD = Habits(
    late_of={AddPartitionsToTxnRequest: _OFTEN, AddOffsetsToTxnRequest: _OFTEN},
    late_s=_QUICK,
    pause_s=0.05,
)
LATE_OFFSETS = Habits(
    late_of={TxnOffsetCommitRequest: _OFTEN}, late_s=(0.0005, 0.05), gives_up=0.6, pause_s=0.02
)
ZOMBIES = Habits(crashes=0.3, zombies=0.8, late_s=_QUICK)
SLEEPERS = Habits(sleeps=0.25, aborts=0.1)
OPEN_LONG = Habits(crashes=0.15, sleeps=0.1, pause_s=0.6)
