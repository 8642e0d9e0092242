"""Logs with held records, as a leader writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.log.making import NOW_MS

from penstock.delays.asking import ask
from penstock.delays.copies import Copy, carried, delivery
from penstock.delays.folding import catch_up
from penstock.delays.pending import Entry
from penstock.delays.schedule import Schedule
from penstock.log.partition_log import PartitionLog
from penstock.log.steps import Apart
from penstock.wire.batch import read_header
from penstock.wire.batch_builder import build_batch, end_marker
from penstock.wire.holding import Tails, with_next
from penstock.wire.records import Cursor, Headers, Record, encode
from penstock.world.ports import Cold

AT, AFTER, CANCEL = b"penstock-deliver-at", b"penstock-delay-ms", b"penstock-cancel"
ID, CRON, NEXT = b"penstock-scheduled-id", b"penstock-cron", b"penstock-next-at"
LIMIT = 1 << 24


def append(log: PartitionLog, batch: bytearray, epoch: int = 0) -> int:
    """Where it begins."""
    done = log.append(batch, read_header(batch), NOW_MS, epoch)
    log.write_out()
    return done.base_offset


def put(log: PartitionLog, all_headers: Sequence[Headers], epoch: int = 0, **more: Any) -> int:
    """Records as a client sends them, looked at as Produce does."""
    records = [Record(n, NOW_MS, b"k", b"v%d" % n, each) for n, each in enumerate(all_headers)]
    batch = build_batch(records, **more)
    ask(batch, NOW_MS, LIMIT, append_time=False)
    return append(log, batch, epoch)


def put_copies(
    log: PartitionLog, entries: Sequence[Entry], *, still_held: bool, next_ms: int | None = None
) -> int:
    """Delivered, perhaps to come again; or carried forward."""
    copies = []
    for entry in entries:
        data = encode([Record(0, NOW_MS, b"k", b"v")], 0, NOW_MS)
        due = [entry.due_ms] if still_held else None
        tails = Tails(Cursor(data, 1), [0], [entry.id], due)
        tails.go_on()
        tail = tails.found[0]
        copies.append(Copy(entry, tail if next_ms is None else with_next(tail, next_ms), NOW_MS, 0))
    return append(log, (carried if still_held else delivery)(copies, NOW_MS))


def put_end(log: PartitionLog, producer_id: int, *, commit: bool) -> int:
    marker = end_marker(producer_id, 0, commit=commit, coordinator_epoch=0, timestamp_ms=NOW_MS)
    return append(log, marker)


def carried_out(steps: Any) -> Any:
    """At once, whatever they wait for."""
    while True:
        try:
            wait = next(steps)
        except StopIteration as end:
            return end.value
        if isinstance(wait, Apart):
            wait.work()
        elif isinstance(wait, Cold):
            wait.file.read(wait.position, wait.length)
        elif callable(wait):
            wait()


def folded(log: PartitionLog, end: int | None = None) -> Schedule:
    schedule = Schedule()
    schedule.begin(log.start_offset)
    carried_out(catch_up(schedule, log, log.end_offset if end is None else end))
    return schedule


def entries(schedule: Schedule) -> list[Entry]:
    blocks = schedule.pending.blocks()
    return [Entry(*row) for block in blocks for row in zip(*block, strict=True)]
