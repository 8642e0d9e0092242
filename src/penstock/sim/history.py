"""What simulated clients did, and what came of it: all that the checker looks at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.sim.delays.history import DelayHistory
from penstock.sim.groups.history import GroupHistory
from penstock.sim.outcome import Outcome
from penstock.sim.shares.history import ShareHistory
from penstock.sim.transactions.history import TransactionHistory


@dataclass(slots=True)
class Send:
    """One value, in the order in which its producer has sent them to a partition."""

    producer: str
    partition: int
    value: int
    outcome: Outcome = Outcome.UNKNOWN
    offset: int | None = None


class Seen(NamedTuple):
    partition: int
    offset: int
    value: int


@dataclass(slots=True)
class History:
    sends: list[Send] = field(default_factory=list)
    polls: dict[str, list[Seen]] = field(default_factory=dict)
    """By reader, each of which goes on where it was."""
    last_reads: dict[str, list[Seen]] = field(default_factory=dict)
    """Of everything from the beginning, after all faults are over."""
    group: GroupHistory = field(default_factory=GroupHistory)
    transactions: TransactionHistory = field(default_factory=TransactionHistory)
    shares: ShareHistory = field(default_factory=ShareHistory)
    delays: DelayHistory = field(default_factory=DelayHistory)

    def send(self, producer: str, partition: int) -> Send:
        """The next value, which is used only once."""
        made = Send(producer, partition, len(self.sends))
        self.sends.append(made)
        return made

    def acknowledged_end(self, partition: int) -> int:
        """Behind the last value of a partition that a producer was told of."""
        ends = (
            send.offset + 1
            for send in self.sends
            if send.partition == partition and send.offset is not None
        )
        return max(ends, default=0)
