"""What brokers log in a run: all of it is in the trace, and some of it is a failure."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.sim.scheduler import Scheduler


class Listener(logging.Handler):
    """An exception that is logged is a bug that was caught: the broker says nothing of others."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler = scheduler

    def emit(self, record: logging.LogRecord) -> None:
        scheduler = self._scheduler
        if scheduler.is_over:
            return
        line = f"{scheduler.running_name}: {record.levelname} {record.getMessage()}"
        scheduler.note(line)
        if record.exc_info and record.exc_info[1] is not None:
            scheduler.fail(f"{line}: {record.exc_info[1]!r}")


@contextmanager
def listening(scheduler: Scheduler) -> Iterator[None]:
    """Instead of all that would be done with log lines otherwise."""
    lines = logging.getLogger("penstock")
    before = lines.handlers, lines.propagate, lines.level
    lines.handlers, lines.propagate = [Listener(scheduler)], False
    lines.setLevel(logging.INFO if scheduler.trace is not None else logging.WARNING)
    try:
        yield
    finally:
        lines.handlers, lines.propagate = before[0], before[1]
        lines.setLevel(before[2])
