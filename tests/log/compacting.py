"""Keyed records, and passes of compaction without a loop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tests.log.making import EVERYTHING, NOW_MS, split

from penstock.config import TopicConfig
from penstock.log import compaction_plan
from penstock.log.compaction import Compaction
from penstock.log.partition_log import Appended, PartitionLog
from penstock.log.steps import Apart, Sync, Wait
from penstock.wire import batch as batches
from penstock.wire.batch import BatchHeader
from penstock.wire.batch_builder import build_batch, read_records
from penstock.wire.records import Record
from penstock.world.ports import Cold

CONFIG = TopicConfig(
    cleanup_policy=("compact",),
    segment_bytes=1024,
    index_interval_bytes=100,
    delete_retention_ms=60_000,
)
WITHOUT_RETENTION = replace(CONFIG, delete_retention_ms=0)
AMPLE = 1 << 20

Pair = tuple[bytes | None, bytes | None]


def write(log: PartitionLog, *pairs: Pair, at_ms: int = NOW_MS, **more: Any) -> Appended:
    """Append one batch of keys and values."""
    records = [Record(number, at_ms, key, value) for number, (key, value) in enumerate(pairs)]
    batch = build_batch(records, **more)
    done = log.append(batch, batches.read_header(batch), at_ms, 0)
    log.write_out()
    return done


FIVE = [(b"k%d" % number, b"x" * 100) for number in range(5)]


def filled(log: PartitionLog, rounds: int = 8) -> PartitionLog:
    """Five keys, written over and over, in a segment for each round or so."""
    for number in range(rounds):
        for key, value in FIVE:
            write(log, (key, b"%d " % number + value))
    return log


def go_on(log: PartitionLog, steps: Iterable[Wait]) -> None:
    for wait in steps:
        carry_out(log, wait)


def carry_out(log: PartitionLog, wait: Wait) -> None:
    if isinstance(wait, Cold):
        wait.file.read(wait.position, wait.length)
    elif isinstance(wait, Sync):
        for file in wait.files:
            file.sync()
        for folder in wait.folders:
            log.disk.sync_folder(folder)
    elif isinstance(wait, Apart):
        wait.work()
    elif wait is not None:
        wait()


def compact(
    log: PartitionLog,
    *,
    now_ms: int = NOW_MS,
    stable: int | None = None,
    map_bytes: int = AMPLE,
) -> Compaction | None:
    """One pass over what is cleanable, however little of it is dirty; None if nothing is."""
    stable = log.last_stable_offset(log.end_offset) if stable is None else stable
    dirt = compaction_plan.examine(log, now_ms, stable)
    if dirt is None:
        return None
    compaction = Compaction(log, dirt, now_ms, map_bytes)
    go_on(log, compaction.run())
    return compaction


def roll_and_compact(log: PartitionLog, **how: Any) -> Compaction:
    """All that has been written so far, and is decided."""
    log.roll()
    done = compact(log, **how)
    assert done is not None
    return done


def every_batch(log: PartitionLog) -> list[bytes]:
    """Read slice by slice, as a consumer would."""
    at, found = log.start_offset, list[bytes]()
    while at < log.end_offset:
        part = log.read(at, 700, log.end_offset, cold_ok=True)
        if part is None:
            break
        found += split(part.range.file.read(part.range.position, part.range.length))
        assert part.next_offset > at
        at = part.next_offset
    return found


def every_header(log: PartitionLog) -> list[BatchHeader]:
    return [batches.read_header(batch) for batch in every_batch(log)]


def records_in(all_batches: Iterable[bytes]) -> list[Record]:
    return [
        record
        for batch in all_batches
        if not batches.read_header(batch).is_control
        for record in read_records(batch, EVERYTHING)
    ]


def every_record(log: PartitionLog) -> list[Record]:
    """Those that a consumer is given; checks that offsets go up."""
    found = records_in(every_batch(log))
    offsets = [record.offset for record in found]
    assert offsets == sorted(set(offsets))
    return found


def contents(log: PartitionLog) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(record.offset, record.key, record.value) for record in every_record(log)]


def latest(records: Iterable[Record]) -> dict[bytes | None, bytes]:
    """What a reader from the beginning ends up with."""
    state: dict[bytes | None, bytes] = {}
    for record in records:
        state.pop(record.key, None)
        if record.value is not None:
            state[record.key] = record.value
    return state
