"""What leaders have stored in shares, and what they have read: in the order in which it began and
ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Value(NamedTuple):
    """What a share holds. Values of later leaders are larger, and of one leader those of later."""

    epoch: int
    number: int


NOTHING = Value(-1, -1)


@dataclass(slots=True)
class Step:
    share: int
    epoch: int
    """Of the leader."""
    begun: int
    value: Value
    """That it has read, or written."""
    is_read: bool
    ended: int | None = None
    """None: nobody knows whether it was done."""


@dataclass(slots=True)
class ShareHistory:
    steps: list[Step] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _moments: int = 0
    _numbers: dict[int, int] = field(default_factory=dict)

    def writes(self, share: int, epoch: int) -> Step:
        number = self._numbers[share] = self._numbers.get(share, -1) + 1
        return self._step(share, epoch, Value(epoch, number), is_read=False)

    def reads(self, share: int, epoch: int) -> Step:
        return self._step(share, epoch, NOTHING, is_read=True)

    def ends(self, step: Step) -> None:
        self._moments += 1
        step.ended = self._moments

    def _step(self, share: int, epoch: int, value: Value, *, is_read: bool) -> Step:
        self._moments += 1
        step = Step(share, epoch, self._moments, value, is_read)
        self.steps.append(step)
        return step
