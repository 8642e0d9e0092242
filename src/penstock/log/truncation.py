"""Making a log shorter, at either end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import ErrorCode, Refused
from penstock.log import layout, loading
from penstock.log.producer_state import ProducerStates

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog


def undo(log: PartitionLog) -> None:
    """A write failed: the log is what its files say. Reads them again, since this is rare."""
    active = log.active
    assert active is not None
    active.truncate(active.file.size, log.written_end)
    _ends_at(log, log.written_end)


def truncate_to(log: PartitionLog, offset: int) -> None:
    """The log ends before the batch that holds an offset; for a follower that went astray."""
    log.open()
    log.write_out()
    if offset >= log.end_offset or log.active is None:
        return
    offset = max(offset, log.segments[0].base)
    log.lowered(offset)  # first, or a crash in here would look like lost data
    keep = log.segment_of(offset) + 1
    for segment in log.segments[keep:]:
        segment.remove()
        log.indexes.drop(segment)
    del log.segments[keep:]
    log.active = active = log.segments[-1]
    log.indexes.load(active)
    log.indexes.drop(active)
    loading.aborted_in(log, active)
    place = active.find(offset, log.indexes, cold_ok=True)
    if place is not None:
        active.truncate(place.position, place.base_offset)
    log.note_folder(log.folder)
    _ends_at(log, active.next_offset() if active.size else active.base)
    log.damage = [stretch for stretch in log.damage if stretch.first_offset < log.end_offset]


def _ends_at(log: PartitionLog, offset: int) -> None:
    log.end_offset = log.written_end = offset
    log.start_offset = min(log.start_offset, offset)
    log.high_watermark = min(log.high_watermark, offset)
    log.lowered(offset)
    log.epochs.truncate_end(offset)
    drop_snapshots_after(log, offset)
    for _ in loading.rebuild_producers(log, offset):
        pass


def start_over(log: PartitionLog, offset: int) -> None:
    """An empty log that begins at an offset; for a follower whose leader has nothing before it."""
    log.open()
    log.write_out()
    log.lowered(min(offset, log.start_offset))
    for segment in log.segments:
        segment.remove()
        log.indexes.drop(segment)
    log.segments, log.active = [], None
    log.rolled, log.damage = [], []
    drop_snapshots_after(log, -1)
    log.epochs.truncate_end(0)
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
    return drop_first(log, sum(base <= offset for base in bases))


def drop_first(log: PartitionLog, count: int) -> list[str]:
    """The first segments go. Their files are renamed; those who are reading them go on."""
    if count == 0:
        return []
    log.touched = True
    dropped, log.segments = log.segments[:count], log.segments[count:]
    log.forget_marks()
    files: list[str] = []
    for segment in dropped:
        files += segment.rename(layout.DELETED)
        log.indexes.drop(segment)
        log.disk.remove(segment.prefix + layout.SNAPSHOT)
    log.rolled = [segment for segment in log.rolled if segment not in dropped]
    log.note_folder(log.folder)
    log.start_offset = max(log.start_offset, log.segments[0].base)
    log.epochs.truncate_start(log.start_offset)
    log.damage = [stretch for stretch in log.damage if stretch.end_offset > log.start_offset]
    return files


def drop_snapshots_after(log: PartitionLog, offset: int) -> None:
    for name in log.disk.list(log.folder):
        taken_at = layout.parse_offset(name, layout.SNAPSHOT)
        if taken_at is not None and taken_at > offset:
            log.disk.remove(f"{log.folder}/{name}")
