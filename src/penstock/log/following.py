"""A follower's append: batches as its leader has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import ErrorCode, Refused
from penstock.log import notes
from penstock.log.producer_state import marker_in
from penstock.wire import batch as batches
from penstock.wire.batch import CONTROL, HEADER_SIZE, LENGTH_OVERHEAD, BatchHeader

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog


def append_batches(log: PartitionLog, data: memoryview, now_ms: int) -> int:
    """What is left of a batch that was cut off at the end is ignored. Offsets may skip (the
    leader's log is compacted), but never go back, unless the log is empty."""
    log.open()
    position, count = 0, 0
    while position + LENGTH_OVERHEAD <= len(data):
        size = batches.size_at(data, position)
        if size < HEADER_SIZE or position + size > len(data):
            break
        _append(log, data[position : position + size], now_ms)
        position += size
        count += 1
    return count


def _append(log: PartitionLog, batch: memoryview, now_ms: int) -> None:
    header = batches.check(batch)
    base = header.base_offset
    if base < log.end_offset:
        _append_around_start(log, batch, header, now_ms)
        return
    if log.is_torn:
        log.mend()
    if base > log.end_offset and log.active is not None and not log.is_compacted:
        _note_gaps(log)
    if log.synced_end == log.end_offset:
        log.dirty_since_ms = now_ms
    log.add(batch, header, base, header.max_timestamp, header.leader_epoch, now_ms)
    if header.producer_id >= 0:
        marker = marker_in(batch) if header.attributes & CONTROL else None
        log.note_producer(header, marker, base, header.max_timestamp, now_ms)


def _append_around_start(
    log: PartitionLog, batch: memoryview, header: BatchHeader, now_ms: int
) -> None:
    """The first batch of an empty log, which begins before the log's start: records were deleted up
    to its middle. The log begins with it, and starts inside it, as the leader's does.

    It is written at once: should that fail, the log is empty, and its leader is asked again.
    """
    start = log.start_offset
    if log.size_bytes or not start == log.end_offset <= header.last_offset:
        text = f"a batch at {header.base_offset} in a log that ends at {log.end_offset}"
        raise Refused(ErrorCode.CORRUPT_MESSAGE, text)
    log.start_over(header.base_offset)
    _append(log, batch, now_ms)
    log.write_out()
    log.advance_start(start)


def _note_gaps(log: PartitionLog) -> None:
    """The leader's log has them; synced no later than the batch that comes after the first."""
    log.write_out()
    log.unsynced_files.append(notes.write_compacted(log))
    log.note_folder(log.folder)
    log.is_compacted = True
