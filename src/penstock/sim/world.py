"""Clock and chance of a simulated process. Disk and network have modules of their own."""

from __future__ import annotations

from random import Random

from penstock.sim.scheduler import Scheduler

BEGINNING_MS = 1_750_000_000_000
"""When virtual time begins, for wall clocks."""
MONOTONIC_MS = 5_000_000.0
"""How long machines have been up by then."""


class SimClock:
    """One machine's. Wall clocks differ by their skew; all its clocks run fast or slow by drift."""

    def __init__(self, scheduler: Scheduler, skew_ms: int = 0, drift: float = 0.0) -> None:
        self._scheduler = scheduler
        self.skew_ms = skew_ms
        self._pace = 1000.0 * (1.0 + drift)

    def now_ms(self) -> int:
        return BEGINNING_MS + self.skew_ms + int(self._scheduler.now_s * self._pace)

    def monotonic_ms(self) -> float:
        return MONOTONIC_MS + self._scheduler.now_s * self._pace


class SimChance:
    def __init__(self, random: Random) -> None:
        self._random = random

    def uuid(self) -> bytes:
        data = bytearray(self._random.randbytes(16))
        data[6] = data[6] & 0x0F | 0x40
        data[8] = data[8] & 0x3F | 0x80
        return bytes(data)

    def below(self, limit: int) -> int:
        return self._random.randrange(limit)
