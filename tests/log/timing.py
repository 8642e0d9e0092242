"""Searches by time, without a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tests.log.compacting import carry_out

from penstock.log.partition_log import PartitionLog
from penstock.log.steps import Steps, Wait
from penstock.log.timestamps import TimedOffset

T = TypeVar("T")


def finished(
    log: PartitionLog, steps: Steps[T], between: Callable[[Wait], None] = lambda _: None
) -> T:
    """What the steps come to; `between` is called after each."""
    while True:
        try:
            wait = next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        carry_out(log, wait)
        between(wait)


def since(log: PartitionLog, timestamp: int, before: int) -> TimedOffset | None:
    return finished(log, log.offset_for_timestamp(timestamp, before))


def newest(log: PartitionLog) -> TimedOffset | None:
    return finished(log, log.max_timestamp())
