"""How a coordinator gets its state back: the events of the log once more, in steps.

Of the events of one key only the last matters, which is what compaction rests on too. So the log is
read through first and most of what it holds is never decoded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Protocol

from penstock.coordination.held import Held
from penstock.coordination.pace import Pace
from penstock.coordination.turn import Event
from penstock.errors import Malformed, Refused
from penstock.log.partition_log import PartitionLog
from penstock.log.producer_state import marker_in
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
from penstock.wire.batch_builder import Marker, records_of
from penstock.wire.compression import DECOMPRESSED_BYTES_MAX
from penstock.wire.records import pairs
from penstock.wire.stored_codec import StoredKey, decode_key, decode_value

log = logging.getLogger(__name__)

CHUNK_BYTES = 128 << 10
"""Read in one step: a thousand batches of one event, at some microseconds each."""
EVENT_COST = 10
BYTES_A_NAME = 50
"""What applying an event costs, in names of topics."""

Raw = dict[bytes, bytes | None]


class Applied(Protocol):
    """Who is made of the events."""

    def apply(self, event: Event) -> None: ...
    def leave_out(self, key: StoredKey, problem: str) -> None:
        """It cannot be applied: a newer release may have written it."""
        ...

    def hold(self, producer_id: int, event: Event, end: int) -> None: ...


class Gathered:
    """The last event of each key, in the order of the log. What was written in a transaction counts
    once that is committed; where two of them say something, what was written later."""

    __slots__ = ("latest", "pending")

    def __init__(self) -> None:
        self.latest: Raw = {}
        self.pending: Held[bytes, bytes | None] = Held()

    def add(self, batch: memoryview) -> None:
        header = check(batch)
        if header.is_control:
            if (marker := marker_in(batch)) is not None:
                self._end(marker)
            return
        records = pairs(_records(batch, header), header.record_count)
        if header.is_transactional:
            for key, value in records:
                if key:
                    self.pending.add(header.producer_id, key, value, header.next_offset)
            return
        latest, pending = self.latest, self.pending
        for key, value in records:
            if key is not None:
                latest.pop(key, None)
                latest[key] = value
                pending.drop(key, header.base_offset)

    def _end(self, marker: Marker) -> None:
        held = self.pending.take(marker.producer_id)
        if marker.is_commit:
            for key, (value, end) in held.items():
                self.latest.pop(key, None)
                self.latest[key] = value
                self.pending.drop(key, end)


def load(partition: PartitionLog, topic: str, applied: Applied) -> Steps[None]:
    """Everything that is in the log now. Nobody appends to it until that is done."""
    gathered = yield from _read(partition)
    pace = Pace()
    for raw_key, value in gathered.latest.items():
        _replay(topic, raw_key, value, applied, applied.apply)
        if pace.is_spent(EVENT_COST + len(value or b"") // BYTES_A_NAME):
            yield None
    for producer_id, raw_key, (value, end) in gathered.pending:
        _replay(topic, raw_key, value, applied, partial(applied.hold, producer_id, end=end))
        if pace.is_spent(EVENT_COST):
            yield None


def _read(partition: PartitionLog) -> Steps[Gathered]:
    gathered = Gathered()
    at = partition.start_offset
    while at < partition.end_offset:
        at, chunk = yield from reindexed(partition, partial(_chunk, partition, at))
        _gather(memoryview(chunk), gathered)
        yield None
    return gathered


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


def _gather(chunk: memoryview, gathered: Gathered) -> None:
    position = 0
    while position + LENGTH_OVERHEAD <= len(chunk):
        batch = chunk[position : position + size_at(chunk, position)]
        position += len(batch) or len(chunk)
        try:
            gathered.add(batch)
        except (Malformed, Refused) as problem:
            log.error("events of a coordinator cannot be read, and are left out: %s", problem)


def _records(batch: memoryview, header: BatchHeader) -> bytes:
    if header.attributes & COMPRESSION_MASK:
        return records_of(batch, DECOMPRESSED_BYTES_MAX)
    return bytes(batch[HEADER_SIZE:])


def _replay(
    topic: str,
    raw_key: bytes,
    raw_value: bytes | None,
    applied: Applied,
    apply: Callable[[Event], None],
) -> None:
    """What cannot be read is left out: one bad event must not hide the others."""
    try:
        key = decode_key(raw_key, topic)
    except Malformed as problem:
        log.error("an event of a coordinator cannot be read, and is left out: %s", problem)
        return
    if key is None:
        return
    try:
        apply(Event(key, None if raw_value is None else decode_value(key, raw_value)))
    except Malformed as problem:
        applied.leave_out(key, str(problem))
    except Exception as problem:
        log.exception("an event of a coordinator makes no sense: %s", key)
        applied.leave_out(key, repr(problem))
