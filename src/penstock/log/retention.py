"""Which segments are too old, or too many, to be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.log import truncation

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog
    from penstock.log.segment import Segment


def drop_expired(log: PartitionLog, now_ms: int, committed: int) -> list[str]:
    """Drop what retention no longer keeps, and forget producers long silent.

    Never anything at or above the high watermark. The segment that is written to goes only when
    all of it has expired: a new one is begun then. Returns the files to remove once nobody reads
    them, after file.delete.delay.ms.
    """
    log.open()
    count = _expired(log, now_ms, committed)
    if count and count == len(log.segments):
        log.roll().file.append([])  # its name says where the log ends
        log.disk.sync_folder(log.folder)
    return truncation.drop_first(log, count)


def _expired(log: PartitionLog, now_ms: int, committed: int) -> int:
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
        too_old = config.deletes and _too_old(segment, now_ms, config.retention_ms)
        if not (too_old or 0 < size <= excess or is_below):
            break
        excess -= size
        expired = number + 1
    return expired


def _too_old(segment: Segment, now_ms: int, retention_ms: int) -> bool:
    if retention_ms < 0:
        return False
    newest = segment.largest_timestamp()
    return newest >= 0 and now_ms - newest > retention_ms
