"""The clock that leases are counted on. On one host it is the same for all processes."""

from __future__ import annotations

import time


def now_ms() -> float:
    return time.monotonic() * 1000
