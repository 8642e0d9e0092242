"""When long work on the loop is to give way: by what it costs, not by how many things it does."""

from __future__ import annotations

COST_A_SLICE = 5_000
"""In names of topics that are looked at, at less than a microsecond each."""


class Pace:
    __slots__ = ("_spent",)

    def __init__(self) -> None:
        self._spent = 0

    def is_spent(self, cost: int) -> bool:
        """Whether it is time for a pause, after this and whatever was done since the last one."""
        self._spent += cost
        if self._spent < COST_A_SLICE:
            return False
        self._spent = 0
        return True
