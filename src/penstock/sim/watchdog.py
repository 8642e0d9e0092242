"""An end for runs that hang within one callback, where no count of callbacks would stop them."""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN_S = 1.0
"""Should somebody catch the first one."""
FRAMES_SHOWN = 8


class Stuck(BaseException):
    """No code of a broker may catch this."""


@contextmanager
def watched(cpu_s_max: float) -> Iterator[None]:
    """Raises Stuck in the midst of whatever runs when so much CPU time is spent."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, lambda _, frame: _ring(cpu_s_max, frame))
    signal.setitimer(signal.ITIMER_VIRTUAL, cpu_s_max, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _ring(cpu_s_max: float, frame: FrameType | None) -> None:
    stack = traceback.extract_stack(frame, FRAMES_SHOWN)
    places = " > ".join(f"{each.name}:{each.lineno}" for each in stack)
    raise Stuck(f"the run is not over after {cpu_s_max} CPU seconds, in {places}")
