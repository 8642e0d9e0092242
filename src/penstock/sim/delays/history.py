"""What was sent for later, cancelled and read: all that the checker of delays looks at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.sim.outcome import Outcome
from penstock.sim.transactions.history import TransactionHistory

TOPIC = "later"
PARTITIONS = 2


@dataclass(slots=True, eq=False)
class Send:
    partition: int
    value: int
    due_ms: int | None
    """None: at once."""
    outcome: Outcome = Outcome.UNKNOWN
    offset: int = -1
    cancelled: Outcome | None = None
    """What has come of cancelling it; None where nobody has."""
    repeats: bool = False
    """It is due once, and then long after all is over: it must be read once, and be held on."""

    def __str__(self) -> str:
        what = f", cancelled: {self.cancelled.value}" if self.cancelled else ""
        return f"{self.value} in {self.partition}@{self.offset}, due {self.due_ms}{what}"


class Seen(NamedTuple):
    partition: int
    offset: int
    value: int
    at_ms: float


@dataclass(slots=True)
class DelayHistory:
    sends: list[Send] = field(default_factory=list)
    transactions: TransactionHistory = field(default_factory=TransactionHistory)
    """Of those who send within transactions; values are of one count."""
    dues: dict[int, int] = field(default_factory=dict)
    """Of their values."""
    polls: dict[str, list[Seen]] = field(default_factory=dict)
    """By reader, each of which goes on where it was."""
    last_reads: dict[str, list[Seen]] = field(default_factory=dict)
    """Of everything from the beginning, after all faults are over and all is due."""
    has_dropped: bool = False
    """Retention drops what was delivered: what somebody has read has not been lost."""
    has_missed: bool = False
    """It was faster than the reader that goes on."""
    problems: list[str] = field(default_factory=list)

    @property
    def repeating(self) -> set[int]:
        return {each.value for each in self.sends if each.repeats}

    def send(self, partition: int, due_ms: int | None, *, repeats: bool = False) -> Send:
        made = Send(partition, self.transactions.new_value(), due_ms, repeats=repeats)
        self.sends.append(made)
        return made
