"""What a log does in steps, without a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tests.log.compacting import carry_out
from tests.log.making import EVERYTHING, headers_at

from penstock.log.partition_log import PartitionLog
from penstock.log.reindexing import reindexed
from penstock.log.steps import Steps, Wait
from penstock.log.timestamps import TimedOffset
from penstock.wire.batch import BatchHeader

T = TypeVar("T")


def finished(
    log: PartitionLog, steps: Steps[T], between: Callable[[Wait], None] = lambda _: None
) -> T:
    """What the steps come to; `between` is called after each."""
    failure: OSError | None = None
    while True:
        try:
            wait = next(steps) if failure is None else steps.throw(failure)
        except StopIteration as end:
            result: T = end.value
            return result
        failure = None
        try:
            carry_out(log, wait)
        except OSError as error:
            failure = error
        between(wait)


def since(log: PartitionLog, timestamp: int, before: int) -> TimedOffset | None:
    return finished(log, log.offset_for_timestamp(timestamp, before))


def newest(log: PartitionLog) -> TimedOffset | None:
    return finished(log, log.max_timestamp(log.end_offset))


def drop_expired(log: PartitionLog, now_ms: int, committed: int) -> list[str]:
    return finished(log, log.expire(now_ms, committed))


def patient_headers(
    log: PartitionLog, offset: int, max_bytes: int = EVERYTHING, before: int | None = None
) -> list[BatchHeader]:
    """What one read gives, after whatever has to be done for it."""
    return finished(log, reindexed(log, lambda _: headers_at(log, offset, max_bytes, before)))
