"""When the garbage collector looks at what.

Objects that refer to each other in a circle are freed by a collector that looks at all objects, and
holds the loop meanwhile: some 100 ms with ten thousand groups. Requests make many short-lived
objects and hardly any circles. So it looks at young objects only, which takes a few milliseconds;
what has lived on is set aside, and looked at when the broker has nothing else to do.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import time

THRESHOLDS = (1_000, 5, 1_000_000)
"""How many more objects there are before the youngest are looked at, and how often that is done
before those that lived on are. The last never comes: that is what is done here."""
LOOK_S = 1.0
SET_ASIDE_FROM = 40
"""Collections of the second kind: some 200,000 objects have lived on."""
IDLE_SHARE = 0.05
"""Of a processor: with less than that the broker has nothing to do."""
ALL_EVERY_S = 600
ALL_AT_LATEST_S = 6 * 3600
"""Even if there is never a quiet moment: by then circles may have piled up."""
GROWN_EVERY_S = 60
GROWN_BYTES, GROWN_BY_HALF = 64 << 20, 1.5
"""Memory that has grown by so much, and to so many times, since all was looked at: if that is
circles, a quiet moment would come too late."""


class Garbage:
    """To be looked after every second or so."""

    def __init__(self, now_s: float, spent_s: float) -> None:
        """`spent_s` is the time that this process has had of a processor."""
        self._all_s = self._looked_s = now_s
        self._spent_s = spent_s
        self._resident = 0
        collect_all()
        gc.set_threshold(*THRESHOLDS)

    def look(self, now_s: float, spent_s: float, resident: int = 0) -> None:
        """`resident`: bytes of memory that this process takes."""
        since_all = now_s - self._all_s
        share = (spent_s - self._spent_s) / max(now_s - self._looked_s, LOOK_S)
        self._looked_s, self._spent_s = now_s, spent_s
        self._resident = self._resident or resident
        if (
            since_all > ALL_AT_LATEST_S
            or (since_all > ALL_EVERY_S and share < IDLE_SHARE)
            or (since_all > GROWN_EVERY_S and self._has_grown(resident))
        ):
            self._all_s = now_s
            self._resident = 0  # the next look tells what is left
            collect_all()
        elif gc.get_count()[2] >= SET_ASIDE_FROM:
            gc.freeze()

    def _has_grown(self, resident: int) -> bool:
        before = self._resident
        return resident > before + GROWN_BYTES and resident > before * GROWN_BY_HALF


def collect_all() -> None:
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def resident_bytes() -> int:
    """0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


async def look_after_garbage() -> None:
    garbage = Garbage(time.monotonic(), time.process_time())
    while True:
        await asyncio.sleep(LOOK_S)
        garbage.look(time.monotonic(), time.process_time(), resident_bytes())
