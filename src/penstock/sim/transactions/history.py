"""What was done in transactions and what was read, all that their checker looks at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.sim.outcome import Outcome


class Write(NamedTuple):
    topic: str
    partition: int
    value: int


@dataclass(slots=True, eq=False)
class Transaction:
    """In the order in which those of one transactional id were begun."""

    who: str
    """The transactional id."""
    number: int
    """Stored with the offsets that it commits, so that it can be told whose are found."""
    writes: list[Write] = field(default_factory=list)
    offsets: dict[int, int] = field(default_factory=dict)
    """Where the group is once it is committed, by partition of the source."""
    outcome: Outcome = Outcome.FAILED
    """As long as nobody has asked to commit it, it surely is not."""

    def __str__(self) -> str:
        return f"transaction {self.number} of {self.who}, {self.outcome.value}"


class Read(NamedTuple):
    topic: str
    partition: int
    offset: int
    value: int


class Place(NamedTuple):
    """Where the group was in a partition of the source when somebody asked; -1 for nowhere yet."""

    partition: int
    offset: int
    number: int
    """Of the transaction; -1 for none."""
    known: int
    """The latest that was known to be committed when it was asked for; -1 for none."""


@dataclass(slots=True)
class TransactionHistory:
    transactions: list[Transaction] = field(default_factory=list)
    polls: dict[str, list[Read]] = field(default_factory=dict)
    """By reader of what is committed, each of which goes on where it was."""
    last_reads: dict[str, list[Read]] = field(default_factory=dict)
    """Of everything from the beginning, after all faults are over."""
    places: list[Place] = field(default_factory=list)
    last_places: list[Place] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What did not come to its end."""
    _values: int = 0

    def begin(self, who: str) -> Transaction:
        made = Transaction(who, len(self.transactions))
        self.transactions.append(made)
        return made

    def new_value(self) -> int:
        self._values += 1
        return self._values

    def known_place(self, partition: int) -> int:
        """The latest transaction that is known to have committed an offset of a partition."""
        done = (
            each.number
            for each in self.transactions
            if each.outcome is Outcome.OK and partition in each.offsets
        )
        return max(done, default=-1)
