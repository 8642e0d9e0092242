"""How fast a broker copies what it is not in sync with: so many bytes per second, on average.

What a leader answers with comes whole, so it is counted afterwards, and paid for by waiting.
"""

from __future__ import annotations


class Throttle:
    __slots__ = ("_counted_ms", "_debt_bytes")

    def __init__(self) -> None:
        self._debt_bytes = 0.0
        self._counted_ms = 0.0

    def took(self, size: int, now_ms: float, rate: int) -> float:
        """So many bytes were copied, at `rate` bytes per second: until when to rest."""
        paid = (now_ms - self._counted_ms) * rate / 1000
        self._debt_bytes = max(self._debt_bytes - paid, 0) + size
        self._counted_ms = now_ms
        return now_ms + self._debt_bytes * 1000 / rate
