"""What members of a group did, and what came of it: all that the checker of groups looks at."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple


@dataclass(slots=True, eq=False)
class Term:
    """A member takes a partition for its own, until it is told otherwise."""

    member: str
    partition: int
    epoch: int
    """The generation, or the member's epoch, in which that began."""


@dataclass(slots=True, eq=False)
class Commit:
    term: Term
    number: int
    """Stored with the offset, so that it can be told which commit is found."""
    offset: int
    asked_s: float
    answered_s: float = inf
    """When its member was told that it is done. Never, as long as nobody knows."""
    is_refused: bool = False
    """It was said that it surely is not done."""

    @property
    def is_acknowledged(self) -> bool:
        return self.answered_s < inf

    def is_acknowledged_after(self, time_s: float) -> bool:
        return time_s < self.answered_s < inf

    def __str__(self) -> str:
        term = self.term
        return f"{term.partition}@{self.offset} by {term.member} of {term.epoch} (#{self.number})"


class Found(NamedTuple):
    """Where the group was in a partition when somebody asked; -1 for nowhere yet."""

    who: str
    partition: int
    offset: int
    number: int
    """Of the commit; -1 for none."""
    asked_s: float


@dataclass(slots=True)
class GroupHistory:
    commits: list[Commit] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)

    def commit(self, term: Term, offset: int, now_s: float) -> Commit:
        made = Commit(term, len(self.commits), offset, now_s)
        self.commits.append(made)
        return made
