"""Which segments are too old, or too many, to be kept.

What an index says of a segment's age is not enough for that: the batches must say it too.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from penstock.errors import Refused
from penstock.log import truncation
from penstock.log.newest import sure_newest
from penstock.log.reindexing import reindexed
from penstock.log.segment import Amiss, Segment
from penstock.log.steps import Steps, Sync

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog


def expire(log: PartitionLog, now_ms: int, committed: int) -> Steps[list[str]]:
    """Drop what retention no longer keeps.

    Never anything at or above the high watermark. The segment that is written to goes only when
    all of it has expired: a new one is begun then. Its name is synced first, since it says where
    the log ends, and so is what is known of producers. Returns the files to remove once nobody
    reads them, after file.delete.delay.ms.
    """
    log.open()
    reasons = yield from _expired(log, now_ms, committed)
    if reasons and len(reasons) == len(log.segments):
        log.roll().file.append([])
        yield Sync(tuple(log.unsynced_files), [log.folder])
        reasons = yield from _expired(log, now_ms, committed)  # much may have happened since
    if reasons and log.held_snapshot is not None:
        with suppress(OSError):  # as many as can be spared go without it
            yield from log.write_held_snapshot()
        reasons = yield from _expired(log, now_ms, committed)
    return truncation.drop_first(log, reasons)


def _expired(log: PartitionLog, now_ms: int, committed: int) -> Steps[list[str]]:
    """Why each of the first segments goes, as of the moment at which this ends."""
    try:
        reasons = yield from reindexed(log, partial(_reasons, log, now_ms, committed))
    except (Amiss, Refused):
        return []  # somebody is at a segment's indexes: the next time will do
    return [] if log.is_deleted else reasons


def _reasons(log: PartitionLog, now_ms: int, committed: int, cold_ok: bool) -> list[str]:
    segments, config = log.segments, log.config
    reasons: list[str] = []
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
            reasons.append("compaction left nothing of it")
            continue  # it goes with the next one that does
        if is_below:
            reasons.append("it lies below the start of the log")
        elif 0 < size <= excess:
            reasons.append(f"retention.bytes={config.retention_bytes}")
        elif config.deletes and _too_old(segment, now_ms, config.retention_ms, cold_ok):
            reasons.append(f"retention.ms={config.retention_ms}")
        else:
            break
        excess -= size
        expired = number + 1
    return reasons[:expired]


def _too_old(segment: Segment, now_ms: int, retention_ms: int, cold_ok: bool) -> bool:
    """By its newest record, or, where no record has a time, by when it was last written to."""
    if retention_ms < 0:
        return False
    newest = sure_newest(segment, cold_ok)
    if newest < 0:
        newest = segment.disk.modified_ms(segment.file.path)
    return now_ms - newest > retention_ms
