"""How a coordinator gets its state back: the events of the log once more, in steps.

Of the events of one key only the last matters, which is what compaction rests on too. So the log is
read through first and most of what it holds is never decoded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from penstock.coordination.pace import Pace
from penstock.coordination.turn import Event
from penstock.errors import Malformed, Refused
from penstock.log.cleaning import DECOMPRESSED_BYTES_MAX
from penstock.log.partition_log import PartitionLog
from penstock.log.reindexing import reindexed
from penstock.log.steps import Steps
from penstock.wire.batch import (
    COMPRESSION_MASK,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    BatchHeader,
    check,
    size_at,
)
from penstock.wire.batch_builder import records_of
from penstock.wire.records import pairs
from penstock.wire.stored_codec import StoredKey, decode_key, decode_value

log = logging.getLogger(__name__)

CHUNK_BYTES = 128 << 10
"""Read in one step: a thousand batches of one event, at some microseconds each."""
EVENT_COST = 10
BYTES_A_NAME = 50
"""What applying an event costs, in names of topics."""

Raw = dict[bytes, bytes | None]
Apply = Callable[[Event], None]
LeaveOut = Callable[[StoredKey, str], None]


def load(partition: PartitionLog, apply: Apply, leave_out: LeaveOut) -> Steps[None]:
    """Everything that is in the log now. Nobody appends to it until that is done.

    `leave_out` is told of what cannot be applied: a newer release may have written it.
    """
    latest = yield from _read(partition)
    pace = Pace()
    for key, value in latest.items():
        _replay(key, value, apply, leave_out)
        if pace.is_spent(EVENT_COST + len(value or b"") // BYTES_A_NAME):
            yield None


def _read(partition: PartitionLog) -> Steps[Raw]:
    """The last event of each key, in the order of the log."""
    latest: Raw = {}
    at = partition.start_offset
    while at < partition.end_offset:
        at, chunk = yield from reindexed(partition, partial(_chunk, partition, at))
        _gather(memoryview(chunk), latest)
        yield None
    return latest


def _chunk(partition: PartitionLog, at: int, cold_ok: bool) -> tuple[int, bytes]:
    for stretch in partition.damage:
        if stretch.first_offset <= at < stretch.end_offset:
            return stretch.end_offset, b""  # the broker has said so when it opened the log
    found = partition.read(at, CHUNK_BYTES, partition.end_offset, cold_ok=cold_ok)
    if found is None:
        damaged = (each.first_offset for each in partition.damage if each.first_offset > at)
        return min(damaged, default=partition.end_offset), b""
    place = found.range
    read = place.file.read if cold_ok else place.file.read_cached
    return found.next_offset, read(place.position, place.length)


def _gather(chunk: memoryview, latest: Raw) -> None:
    position = 0
    while position + LENGTH_OVERHEAD <= len(chunk):
        batch = chunk[position : position + size_at(chunk, position)]
        position += len(batch) or len(chunk)
        try:
            header = check(batch)
            if header.is_control:
                continue
            for key, value in pairs(_records(batch, header), header.record_count):
                if key is not None:
                    latest.pop(key, None)
                    latest[key] = value
        except (Malformed, Refused) as problem:
            log.error("events of a coordinator cannot be read, and are left out: %s", problem)


def _records(batch: memoryview, header: BatchHeader) -> bytes:
    if header.attributes & COMPRESSION_MASK:
        return records_of(batch, DECOMPRESSED_BYTES_MAX)
    return bytes(batch[HEADER_SIZE:])


def _replay(raw_key: bytes, raw_value: bytes | None, apply: Apply, leave_out: LeaveOut) -> None:
    """What cannot be read is left out: one bad event must not hide the others."""
    try:
        key = decode_key(raw_key)
    except Malformed as problem:
        log.error("an event of a coordinator cannot be read, and is left out: %s", problem)
        return
    if key is None:
        return
    try:
        apply(Event(key, None if raw_value is None else decode_value(key, raw_value)))
    except Malformed as problem:
        leave_out(key, str(problem))
    except Exception as problem:
        log.exception("an event of a coordinator makes no sense: %s", key)
        leave_out(key, repr(problem))
