"""What a run that does not come to its end is waiting for: the tasks of each process, and where."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.sim.loop import VirtualLoop

SHOWN = 40
DEPTH_MAX = 12


def pending(loops: Iterable[VirtualLoop]) -> list[str]:
    """The director's first: what it waits for says the most."""
    found = [line for loop in loops if not loop.is_dead for line in _tasks_of(loop)]
    left = len(found) - SHOWN
    return [*found[:SHOWN], *([f"and {left} tasks more"] if left > 0 else [])]


def _tasks_of(loop: VirtualLoop) -> list[str]:
    state = " (paused)" if loop.is_paused else ""
    tasks = (" > ".join(_places(task.get_coro())) for task in asyncio.all_tasks(loop))
    return [f"pending: {loop.name}{state}: {each}" for each in sorted(tasks)]


def _places(coroutine: Any) -> Iterator[str]:
    """From the outermost call to the line that waits."""
    for _ in range(DEPTH_MAX):
        frame = _first(coroutine, "cr_frame", "ag_frame", "gi_frame")
        if frame is None:
            return
        yield f"{frame.f_code.co_qualname}:{frame.f_lineno}"
        coroutine = _first(coroutine, "cr_await", "ag_await", "gi_yieldfrom")


def _first(value: Any, *names: str) -> Any:
    return next((getattr(value, name) for name in names if hasattr(value, name)), None)
