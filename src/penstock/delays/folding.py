"""Going through a log, from where a schedule stands to an offset below which all is committed.

In steps, and several may be at it: who finds that another was faster goes on from there. A batch
counts as gone through when all of it has been taken in, and until then may be begun again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from penstock.delays.schedule import Event, ManyCrons, Schedule, concerns, read_event
from penstock.errors import Malformed, Refused
from penstock.log.partition_log import PartitionLog
from penstock.log.reading import bytes_of
from penstock.log.reindexing import reindexed
from penstock.log.steps import Apart, Pauses, Steps
from penstock.wire.batch import BatchHeader, batches_in, check, read_header

lines = logging.getLogger(__name__)

T = TypeVar("T")

CHUNK_BYTES = 256 << 10
HEAVY_BYTES = 64 << 10
HEAVY_RECORDS = 2000
"""A batch with more of either takes a millisecond or more, and is looked into off the loop."""


def catch_up(schedule: Schedule, log: PartitionLog, end: int) -> Steps[None]:
    """Raises what reading raises."""
    pauses = Pauses()
    while schedule.is_read and not log.is_deleted:
        _begin_where_it_can(schedule, log)
        if log.start_offset > schedule.cleared:
            yield from schedule.let_go(log.start_offset)
        _pass_damage(schedule, log)
        if schedule.offset >= end:
            return
        start = schedule.offset
        data = yield from _read(log, start, end)
        if not data:
            return
        yield from _go_through(schedule, log, data, pauses)


def _go_through(
    schedule: Schedule, log: PartitionLog, data: memoryview, pauses: Pauses
) -> Steps[None]:
    """Until another was faster."""
    for batch in batches_in(data):
        header, start = read_header(batch), schedule.offset
        if header.last_offset < start:
            continue
        event = None
        if concerns(header):
            event = yield from _event(log, header, batch)
            if schedule.offset != start:
                return
        yield from _take_in(schedule, log, header, event)
        if pauses.is_due(len(batch)):
            yield None


def _begin_where_it_can(schedule: Schedule, log: PartitionLog) -> None:
    """What was gone through is there no more, where the log's start has moved past it; or was never
    committed after all, which only an unclean election brings about."""
    offset = schedule.offset
    is_cut = offset > log.end_offset or (
        offset > log.start_offset
        and schedule.epoch >= 0
        and log.epochs.epoch_at(offset - 1) not in (schedule.epoch, -1)
    )
    if is_cut:
        lines.warning("%s: held records are read anew: the log was cut", log.folder)
        schedule.begin(log.start_offset)
    elif offset < log.start_offset:
        schedule.offset = log.start_offset


def _pass_damage(schedule: Schedule, log: PartitionLog) -> None:
    """Nobody can tell what was there."""
    for stretch in log.damage:
        if stretch.first_offset <= schedule.offset < stretch.end_offset:
            text = "%s: held records at %d to %d are damaged, or what became of others"
            lines.error(text, log.folder, schedule.offset, stretch.end_offset - 1)
            schedule.offset = stretch.end_offset
            schedule.epoch = log.epochs.epoch_at(stretch.end_offset - 1)


def _read(log: PartitionLog, start: int, end: int) -> Steps[memoryview]:
    """Some whole batches."""

    def read(cold_ok: bool) -> memoryview:
        found = log.read(start, CHUNK_BYTES, end, at_least_one=True, cold_ok=cold_ok)
        return memoryview(b"") if found is None else bytes_of(found, cold_ok)

    return (yield from reindexed(log, read))


def _event(log: PartitionLog, header: BatchHeader, batch: memoryview) -> Steps[Event | None]:
    """None where the batch is damaged: readers are told so, and nothing of it is held."""

    def read(light: bool = False) -> Event | None:
        try:
            return read_event(check(batch), batch, light=light)
        except (Malformed, Refused) as problem:
            text = "%s: held records in the batch at %d cannot be read: %s"
            lines.error(text, log.folder, header.base_offset, problem)
            return None

    if not is_heavy(header):
        with suppress(ManyCrons):
            return read(light=True)
    return (yield from apart(read))


def is_heavy(header: BatchHeader) -> bool:
    return header.size > HEAVY_BYTES or header.record_count > HEAVY_RECORDS


def apart(work: Callable[[], T]) -> Steps[T]:
    """Off the loop, and one at a time, as it may take much memory."""
    done: list[T] = []
    yield Apart(lambda: done.append(work()))
    return done[0]


def off_loop(work: Callable[[], T]) -> Steps[T]:
    done: list[T] = []
    yield lambda: done.append(work())
    return done[0]


def _take_in(
    schedule: Schedule, log: PartitionLog, header: BatchHeader, event: Event | None
) -> Steps[None]:
    """The batch is passed once all of it has been taken in; unless another was faster."""
    start, pending = schedule.offset, schedule.pending
    if event is not None:
        for _ in schedule.apply(event):
            yield None
            if schedule.offset != start or schedule.pending is not pending:
                return
    schedule.passed(header, log.epochs.epoch_at(header.last_offset))
