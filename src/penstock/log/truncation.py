"""Making a log shorter, at either end."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from penstock.errors import ErrorCode, Refused
from penstock.log import layout, loading, notes, snapshotting, swapping
from penstock.log.producer_state import ProducerStates
from penstock.log.steps import exhaust
from penstock.wire.batch import NO_TIMESTAMP

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog
    from penstock.log.segment import Segment

lines = logging.getLogger(__name__)


def undo(log: PartitionLog) -> None:
    """A write failed: the log is as it was before the first append that was to be written.

    From memory, since whatever made the write fail may make reads fail too. Only cutting the file
    can, should the disk have kept some of the write: no append is taken then before that is done.
    """
    active, end = log.active, log.written_end
    assert active is not None
    _shrink(active, end, *log.before)
    log.end_offset = end
    log.epochs.undo(log.epochs_before)
    log.epochs.truncate_start(log.start_offset)
    log.producers.undo(end)
    log.forget_marks()
    try:
        active.file.truncate(active.size)
    except OSError:
        log.is_torn = active.sealed = True


def _shrink(
    segment: Segment, end_offset: int, size: int, max_timestamp: int, max_timestamp_offset: int
) -> None:
    """What is in memory of a segment, without what was added past its former size."""
    assert segment.offsets is not None
    assert segment.times is not None
    assert segment.aborted is not None
    segment.size = size
    segment.offsets.truncate(size)
    segment.times.truncate(end_offset - segment.base)
    segment.aborted[:] = [each for each in segment.aborted if each.last_offset < end_offset]
    segment.indexed_at = segment.offsets.positions[-1] if segment.offsets else 0
    segment.max_timestamp, segment.max_timestamp_offset = max_timestamp, max_timestamp_offset
    if not size:
        segment.first_timestamp = NO_TIMESTAMP


def mend(log: PartitionLog) -> None:
    """Cut off what a failed write has left; until that succeeds the log cannot grow."""
    assert log.active is not None
    log.active.file.truncate(log.active.size)
    log.is_torn = log.active.sealed = False


def truncate_to(log: PartitionLog, offset: int) -> None:
    """The log ends before the batch that holds an offset; for a follower that went astray."""
    log.open()
    log.write_out()
    if offset >= log.end_offset or log.active is None:
        _forget_epochs(log, offset)  # else the same would be asked for again and again
        return
    if log.is_torn:
        mend(log)
    offset = _before_damage(log, max(offset, log.segments[0].base))
    notes.forget_begun(log, offset)
    log.begun = None
    log.lowered(offset)  # first, or a crash in here would look like lost data
    swapping.take_back(log, offset)
    keep = log.segment_of(offset) + 1
    for segment in log.segments[keep:]:
        segment.remove()
        log.indexes.drop(segment)
    del log.segments[keep:]
    log.active = active = log.segments[-1]
    log.indexes.load(active)
    log.indexes.drop(active)
    loading.aborted_in(log, active)
    boundary = _boundary(log, active, offset)
    if boundary is not None:
        active.truncate(*boundary)
        log.unsynced_files.append(active.file)  # no later than an epoch that begins there
    log.note_folder(log.folder)
    _ends_at(log, exhaust(active.next_offset()) if active.size else active.base)
    notes.keep_damage(log, [each for each in log.damage if each.first_offset < log.end_offset])


def _forget_epochs(log: PartitionLog, offset: int) -> None:
    log.epochs.forget_from(offset)
    if log.begun is not None and log.begun.start_offset >= offset:
        log.begun = None


def _before_damage(log: PartitionLog, offset: int) -> int:
    """No log ends in, or with, what is damaged: a follower had better fetch that again."""
    for stretch in reversed(log.damage):
        if stretch.first_offset <= offset <= stretch.end_offset:
            offset = stretch.first_offset
    return offset


def _boundary(log: PartitionLog, segment: Segment, offset: int) -> tuple[int, int] | None:
    """Where in a segment to cut, and the first offset that is gone; None if none of it goes."""
    for stretch in log.damage:
        if stretch.first_offset == offset and stretch.segment_base == segment.base:
            return stretch.position, offset
    place = segment.find_now(offset, log.indexes)
    return None if place is None else (place.position, place.base_offset)


def _ends_at(log: PartitionLog, offset: int) -> None:
    log.end_offset = log.written_end = offset
    log.start_offset = min(log.start_offset, offset)
    log.deleted_to = min(log.deleted_to, offset)
    log.high_watermark = min(log.high_watermark, offset)
    log.lowered(offset)
    log.epochs.truncate_end(offset)
    snapshotting.drop_after(log, offset)
    exhaust(loading.rebuild_producers(log, offset))


def start_over(log: PartitionLog, offset: int) -> None:
    """An empty log that begins at an offset; for a follower whose leader has nothing before it."""
    log.open()
    log.write_out()
    notes.forget_begun(log, -1)
    log.begun = None
    log.lowered(min(offset, log.start_offset))
    swapping.take_back(log, -1)
    for segment in log.segments:
        segment.remove()
        log.indexes.drop(segment)
    log.segments, log.active, log.is_torn = [], None, False
    log.rolled = []
    notes.keep_damage(log, [])
    snapshotting.drop_after(log, -1)
    log.epochs.forget_from(0)
    log.producers = ProducerStates()
    log.start_offset = log.end_offset = log.written_end = log.synced_end = offset
    log.high_watermark = offset
    log.roll(offset).file.append([])


def advance_start(log: PartitionLog, offset: int) -> list[str]:
    """Nothing below an offset is to be read any more; whole segments below it go.

    Returns the files to remove once nobody reads them, after file.delete.delay.ms.
    """
    log.open()
    if offset > log.end_offset:
        raise Refused(
            ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset} is past the end {log.end_offset}"
        )
    if offset <= log.start_offset:
        return []
    log.start_offset = offset
    log.touched = True
    log.epochs.truncate_start(offset)
    bases = [segment.base for segment in log.segments[1:]]
    count = sum(base <= offset for base in bases)
    return drop_first(log, [f"records below {offset} were deleted"] * count)


def drop_first(log: PartitionLog, reasons: Sequence[str]) -> list[str]:
    """The first segments go, each for its reason. Their files are renamed; those who are reading
    them go on.

    One that cannot be renamed stays, with those after it, and is tried first the next time. So do
    those that a start would need for producers' state.
    """
    count = snapshotting.not_needed(log, len(reasons))
    if count == 0:
        return []
    log.touched = True
    log.start_offset = max(log.start_offset, log.segments[count].base)
    log.epochs.truncate_start(log.start_offset)
    log.forget_marks()
    log.note_folder(log.folder)
    files: list[str] = []
    try:
        for segment, reason in zip(log.segments[:count], reasons, strict=False):
            files += _drop(log, segment, reason)
    except OSError:
        if not files:
            raise
    finally:
        _forget_damage(log)
    return files


def _forget_damage(log: PartitionLog) -> None:
    """Before what is deleted. Where that cannot be noted, the next start finds no such segment."""
    with suppress(OSError):
        notes.keep_damage(log, [each for each in log.damage if each.end_offset > log.start_offset])


def _drop(log: PartitionLog, segment: Segment, reason: str) -> list[str]:
    files = segment.rename(layout.DELETED)
    text = "%s: segment %d of %d bytes goes: %s"
    lines.info(text, log.folder, segment.base, segment.size, reason)
    log.segments = log.segments[1:]
    log.rolled = [each for each in log.rolled if each is not segment]
    log.indexes.drop(segment)
    with suppress(OSError):  # the next snapshot takes the place of it
        log.disk.remove(segment.prefix + layout.SNAPSHOT)
    return files
