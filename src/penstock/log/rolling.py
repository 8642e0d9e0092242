"""Where one segment of a log ends and the next begins; and where the last one does, at a stop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.log import notes, snapshotting, truncation
from penstock.log.layout import RELATIVE_OFFSET_MAX
from penstock.log.segment import Segment

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog


def roll_if_due(log: PartitionLog, base: int, last: int, size: int, written_ms: int) -> Segment:
    """The segment for a batch. A quick test that errs on the side of rolling was made before."""
    segment, config = log.active, log.config
    if segment is None:
        return roll(log, base)
    if not segment.size and not segment.sealed and last - segment.base <= RELATIVE_OFFSET_MAX:
        return segment
    young = segment.first_timestamp < 0 or (
        written_ms - segment.first_timestamp <= config.segment_ms - segment.jitter_ms(config)
    )
    roomy = segment.size + size <= config.segment_bytes
    indexable = last - segment.base <= RELATIVE_OFFSET_MAX
    if young and roomy and indexable and not segment.is_full(config.segment_index_bytes):
        return segment
    return roll(log, base)


def roll(log: PartitionLog, base: int) -> Segment:
    """A new segment; the old one's indexes go to disk. With OSError that goes on being the last."""
    log.write_out()
    if log.is_torn:
        truncation.mend(log)
    log.touched = True
    if not log.has_folder:
        _make_folder(log)
    if log.active is not None:
        _finish(log, log.active, base)
    segment = Segment(log.disk, log.folder, base)
    segment.begin()
    log.segments.append(segment)
    log.active = segment
    log.note_folder(log.folder)
    return segment


def _make_folder(log: PartitionLog) -> None:
    log.disk.make_folder(log.folder)
    log.note_folder(log.folder.rpartition("/")[0])
    notes.write_partition_file(log)
    log.has_folder = True


def _finish(log: PartitionLog, active: Segment, end: int) -> None:
    """Whatever can fail comes first."""
    if not active.size:
        log.disk.remove(active.file.path)  # nothing was ever written to it
        log.segments.pop()
        return
    active.unsynced_indexes = []  # of an attempt that failed
    active.write_indexes()
    snapshotting.take(log, end)
    log.rolled.append(active)
    log.indexes.remember(active)


def finish_last(log: PartitionLog) -> Iterator[None]:
    """All that a start without a scan needs. Yields where there are many producers."""
    active = log.active
    if active is None:
        return
    if not active.size:
        active.file.append([])  # its name says where the log ends
    active.write_indexes()
    log.unsynced_files += active.unsynced_indexes
    active.unsynced_indexes = []
    log.note_folder(log.folder)  # an index of aborted transactions that is not there means none
    yield from snapshotting.write(log, log.end_offset)
    if epochs := notes.epochs_to_write(log):
        log.disk.write_whole(*epochs)
        log.epochs.changed = False
