"""What of a log a round of syncing has to cover, and what it comes to.

Only the caller awaits anything: between `begin` and `end` the log goes on growing, and may be cut.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from penstock.log import layout, reading
from penstock.world.ports import File

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog


class SyncToken(NamedTuple):
    """What a round of syncing must cover for the log to be durable up to an offset."""

    files: list[File]
    folders: list[str]
    end_offset: int
    generation: int


def begin(log: PartitionLog) -> SyncToken:
    log.write_out()
    with suppress(OSError):  # then the epoch has not begun
        log.note_begun()
    files = log.unsynced_files
    for segment in log.rolled:
        files += [segment.file, *segment.unsynced_indexes]
        segment.unsynced_indexes = []
    active = log.active
    if active is not None and active.size and log.synced_end < log.end_offset:
        files.append(active.file)
        reading.mark(log, log.end_offset, active, active.size)
    token = SyncToken(files, log.unsynced_folders, log.written_end, log.generation)
    log.unsynced_files, log.rolled, log.unsynced_folders = [], [], []
    return token


def end(log: PartitionLog, token: SyncToken) -> None:
    if token.generation == log.generation:
        log.synced_end = max(log.synced_end, token.end_offset)
    for file in token.files:
        if not layout.holds_batches(file.path):
            file.close()  # indexes and notes are not written to again


def is_flush_due(log: PartitionLog, now_ms: int) -> bool:
    unsynced, config = log.end_offset - log.synced_end, log.config
    if unsynced <= 0:
        return False
    return unsynced >= config.flush_messages or now_ms - log.dirty_since_ms >= config.flush_ms
