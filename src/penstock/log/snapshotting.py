"""Producers' state in files beside the log, as of offsets at which segments begin.

A start makes the state anew from the latest snapshot and the batches since. That of few producers
is written when a segment is begun. Of many that takes longer than others can wait: what is to be
written is held then, and written in steps soon after. Until that is done the snapshots before it
stay, and so do the segments that came after those.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, NamedTuple

from penstock.log import layout, notes, producer_snapshot
from penstock.log.producer_state import Producer
from penstock.log.steps import Steps, exhaust

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog

AT_ONCE_MAX = 500
PRODUCERS_A_SLICE = 5000


class Held(NamedTuple):
    """A snapshot that is still to be written."""

    offset: int
    producers: list[Producer]


def take(log: PartitionLog, offset: int) -> None:
    """A segment begins; all that was appended before it is written out."""
    if len(log.producers.producers) <= AT_ONCE_MAX:
        exhaust(write(log, offset))
    else:
        log.held_snapshot = Held(offset, log.producers.settled())


def write(log: PartitionLog, offset: int) -> Generator[None, None, None]:
    """Synced by the next round: the one before stays until the next one comes."""
    before = max(_taken(log), default=offset)
    parts = yield from producer_snapshot.encoded(log.producers.settled())
    notes.write(log, layout.offset_name(offset) + layout.SNAPSHOT, b"".join(parts))
    log.held_snapshot = None
    _remove_useless(log, {before, offset})


def write_held(log: PartitionLog) -> Steps[None]:
    """What could not be written at once. It gets its name when it is synced, and still true."""
    held = log.held_snapshot
    if held is None:
        return
    parts = yield from producer_snapshot.encoded(held.producers)
    path = f"{log.folder}/{layout.offset_name(held.offset)}{layout.SNAPSHOT}"
    temporary = path + layout.TEMPORARY
    try:
        yield lambda: log.disk.write_whole(temporary, b"".join(parts))
    except FileNotFoundError:
        if not log.is_deleted:
            raise
    if log.is_deleted or log.held_snapshot is not held:
        log.disk.remove(temporary)
        return
    log.disk.rename(temporary, path)
    log.note_folder(log.folder)
    log.held_snapshot = None
    _remove_useless(log, {held.offset})
    while held.producers:  # most are not needed any more, and there are many
        del held.producers[-PRODUCERS_A_SLICE:]
        yield None


def _remove_useless(log: PartitionLog, kept: set[int]) -> None:
    """Those of the segments' bases are kept, and few others."""
    kept |= {segment.base for segment in log.segments}
    for offset in _taken(log):
        if offset not in kept:
            log.disk.remove(f"{log.folder}/{layout.offset_name(offset)}{layout.SNAPSHOT}")


def drop_after(log: PartitionLog, offset: int) -> None:
    """Batches past an offset are gone, and so must be what they said of producers."""
    drop_within(log, offset + 1, layout.LAST_OFFSET + 1)


def drop_within(log: PartitionLog, start: int, end: int) -> None:
    """Snapshots in [start, end)."""
    if log.held_snapshot is not None and start <= log.held_snapshot.offset < end:
        log.held_snapshot = None
    for offset in _taken(log):
        if start <= offset < end:
            log.disk.remove(f"{log.folder}/{layout.offset_name(offset)}{layout.SNAPSHOT}")


def not_needed(log: PartitionLog, count: int) -> int:
    """How many of so many first segments can go, without a start missing what they say of
    producers: those that a snapshot has been written after."""
    if log.held_snapshot is None:
        return count
    known = max(_taken(log), default=-1)
    return sum(segment.base <= known for segment in log.segments[1 : count + 1])


def _taken(log: PartitionLog) -> list[int]:
    names = log.disk.list(log.folder)
    found = (layout.parse_offset(name, layout.SNAPSHOT) for name in names)
    return [offset for offset in found if offset is not None]
