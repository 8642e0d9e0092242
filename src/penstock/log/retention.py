"""Which segments are too old, or too many, to be kept."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from penstock.errors import Refused
from penstock.log import truncation
from penstock.log.reindexing import reindexed
from penstock.log.segment import Amiss, Segment
from penstock.log.steps import Steps, Sync

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog


def expire(log: PartitionLog, now_ms: int, committed: int) -> Steps[list[str]]:
    """Drop what retention no longer keeps.

    Never anything at or above the high watermark. The segment that is written to goes only when
    all of it has expired: a new one is begun then, and its name is synced first, since it says
    where the log ends. Returns the files to remove once nobody reads them, after
    file.delete.delay.ms.
    """
    log.open()
    count = yield from _expired(log, now_ms, committed)
    if count and count == len(log.segments):
        log.roll().file.append([])
        yield Sync((), [log.folder])
        count = yield from _expired(log, now_ms, committed)  # much may have happened since
    return truncation.drop_first(log, count)


def _expired(log: PartitionLog, now_ms: int, committed: int) -> Steps[int]:
    """How many segments have expired, as of the moment at which this ends."""
    try:
        count = yield from reindexed(log, partial(_count_expired, log, now_ms, committed))
    except (Amiss, Refused):
        return 0  # somebody is at a segment's indexes: the next time will do
    return 0 if log.is_deleted else count


def _count_expired(log: PartitionLog, now_ms: int, committed: int, cold_ok: bool) -> int:
    segments, config = log.segments, log.config
    excess, expired = 0, 0
    if config.deletes and config.retention_bytes >= 0:
        excess = log.size_bytes - config.retention_bytes
    for number, segment in enumerate(segments):
        is_last = number + 1 == len(segments)
        end = log.end_offset if is_last else segments[number + 1].base
        size = segment.size
        if end > committed or (is_last and not size):
            break
        is_below = end <= log.start_offset and not is_last
        if not size and not is_below:
            continue  # compaction left nothing of it; it goes with the next one that does
        too_old = config.deletes and _too_old(segment, now_ms, config.retention_ms, cold_ok)
        if not (too_old or 0 < size <= excess or is_below):
            break
        excess -= size
        expired = number + 1
    return expired


def _too_old(segment: Segment, now_ms: int, retention_ms: int, cold_ok: bool) -> bool:
    """By its newest record, or, where no record has a time, by when it was last written to."""
    if retention_ms < 0:
        return False
    newest = segment.largest_timestamp(cold_ok)
    if newest < 0:
        newest = segment.disk.modified_ms(segment.file.path)
    return now_ms - newest > retention_ms
