"""A log whose folder has got another name: the partition is another one's now."""

from __future__ import annotations

from penstock.log.log_state import LogState
from penstock.log.partition_log import PartitionLog
from penstock.log.segment import Segment

_KNOWN = (
    "start_offset",
    "end_offset",
    "written_end",
    "synced_end",
    "recovery_point",
    "high_watermark",
    "cleaned_to",
    "deleted_to",
    "epoch_reached",
    "has_folder",
)
"""Of a log that is not open: what its folder's checkpoints say, and the cluster."""


def succeeded(log: PartitionLog, folder: str) -> PartitionLog:
    """The same log in its new folder, in the place of the old one, which counts as deleted: so
    whoever is at work on it, to compact it, say, finds that out and stops."""
    after = PartitionLog(log.disk, folder, log.topic_id, log.config, log.indexes)
    for name in LogState.__slots__ if log.is_open else (*_KNOWN, "_on_lowered"):
        setattr(after, name, getattr(log, name))
    after.folder, after.opening = folder, None
    after.unsynced_folders = [folder, folder.rpartition("/")[0]] if log.is_open else []
    for segment in {*after.segments, *after.rolled}:
        _move(segment, folder)
    for file in after.unsynced_files:
        file.moved(folder)
    log.is_deleted = True
    return after


def _move(segment: Segment, folder: str) -> None:
    segment.prefix = f"{folder}/{segment.prefix.rpartition('/')[2]}"
    for file in (segment.file, *segment.unsynced_indexes):
        file.moved(folder)
