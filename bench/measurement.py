"""What a measurement says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Result(NamedTuple):
    title: str
    value: float
    unit: str
    goal: str
    reached: bool
    details: str = ""

    def line(self) -> str:
        verdict = "ok  " if self.reached else "MISS"
        measured = f"{self.title}: {self.value:.3g} {self.unit}"
        return f"{verdict} {measured} (goal {self.goal}) {self.details}"


Measurement = Callable[[Path | None], Result]
"""Given a path, the broker runs under a profiler that writes there, and the figure is worthless."""
