"""Which segments are too old, or too many, to be kept.

What an index says of a segment's age is not enough for that: the batches must say it too. What is
to be archived first is kept for longer, up to a limit; and what is still to be delivered for as
long as it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
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


@dataclass(slots=True)
class Hold:
    """Retention that waits for an archive, and what came of it."""

    archived: int
    """Up to where the archive has the log."""
    held_from: int | None = None
    """From where on it is kept for the archive alone."""
    lost: int = 0
    """How many offsets went all the same, since the log was too large."""


def doomed_to(
    log: PartitionLog, now_ms: int, committed: int, hold: Hold | None = None
) -> Steps[int]:
    """Where the log would begin if what retention no longer keeps were dropped now."""
    log.open()
    reasons = yield from _expired(log, partial(_reasons, log, now_ms, committed, hold, None))
    if not reasons:
        return log.start_offset
    return log.end_offset if len(reasons) == len(log.segments) else log.segments[len(reasons)].base


def expire(
    log: PartitionLog,
    now_ms: int,
    committed: int,
    hold: Hold | None = None,
    pinned: int | None = None,
) -> Steps[list[str]]:
    """Drop what retention no longer keeps, and, with `hold`, the archive has. Nothing goes of the
    segment that has `pinned` in it, nor of those behind.

    Never anything at or above the high watermark. The segment that is written to goes only when
    all of it has expired: a new one is begun then. Its name is synced first, since it says where
    the log ends, and so is what is known of producers. Returns the files to remove once nobody
    reads them, after file.delete.delay.ms.
    """
    log.open()
    find = partial(_reasons, log, now_ms, committed, hold, pinned)
    reasons = yield from _expired(log, find)
    if reasons and len(reasons) == len(log.segments):
        log.roll().file.append([])
        yield Sync(tuple(log.unsynced_files), [log.folder])
        reasons = yield from _expired(log, find)  # much may have happened since
    if reasons and log.held_snapshot is not None:
        with suppress(OSError):  # as many as can be spared go without it
            yield from log.write_held_snapshot()
        reasons = yield from _expired(log, find)
    start = log.start_offset
    dropped = truncation.drop_first(log, reasons)
    if hold is not None:
        hold.lost = max(0, log.start_offset - max(start, hold.archived))
    return dropped


def _expired(log: PartitionLog, find: Callable[[bool], list[str]]) -> Steps[list[str]]:
    """Why each of the first segments goes, as of the moment at which this ends."""
    try:
        reasons = yield from reindexed(log, find)
    except (Amiss, Refused):
        return []  # somebody is at a segment's indexes: the next time will do
    return [] if log.is_deleted else reasons


def _reasons(
    log: PartitionLog,
    now_ms: int,
    committed: int,
    hold: Hold | None,
    pinned: int | None,
    cold_ok: bool,
) -> list[str]:
    segments, config = log.segments, log.config
    reasons: list[str] = []
    excess, expired, left = 0, 0, log.size_bytes
    if config.deletes and config.retention_bytes >= 0:
        excess = left - config.retention_bytes
    if hold is not None:
        hold.held_from = None
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
        elif pinned is not None and end > pinned:
            break
        elif reason := _due(log, segment, excess, now_ms, cold_ok):
            if hold is not None and hold.archived < end:
                if not 0 <= config.retention_hold_max_bytes < left:
                    hold.held_from = max(segment.base, log.start_offset)
                    break
                reason += f" and retention.hold.max.bytes={config.retention_hold_max_bytes}"
            reasons.append(reason)
        else:
            break
        excess -= size
        left -= size
        expired = number + 1
    return reasons[:expired]


def _due(log: PartitionLog, segment: Segment, excess: int, now_ms: int, cold_ok: bool) -> str:
    """Why retention drops a segment; empty if it does not."""
    config = log.config
    if 0 < segment.size <= excess:
        return f"retention.bytes={config.retention_bytes}"
    if config.deletes and _too_old(segment, now_ms, config.retention_ms, cold_ok):
        return f"retention.ms={config.retention_ms}"
    return ""


def _too_old(segment: Segment, now_ms: int, retention_ms: int, cold_ok: bool) -> bool:
    """By its newest record, or, where no record has a time, by when it was last written to."""
    if retention_ms < 0:
        return False
    newest = sure_newest(segment, cold_ok)
    if newest < 0:
        newest = segment.disk.modified_ms(segment.file.path)
    return now_ms - newest > retention_ms
