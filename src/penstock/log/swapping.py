"""Putting a compacted segment in the place of those it was made from, whatever happens meanwhile.

    .cleaned: the new files are written and synced               a start removes them
    .cleaned -> .END.swap, the batches last; folder synced       from here on a start goes on
    the old files -> .deleted                                    a start removes them
    .swap -> the files' own names, the batches last              done

END is where the next segment begins: the new one may have nothing left that tells. It may have
nothing at all, and stays as an empty file then, for offsets in it to be known, until a later pass
makes one segment of it and its neighbours.

`unfinished_swaps` is the other half. Indexes are only ever a help: one that is lost is made again.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from penstock.log import layout, snapshotting, unfinished_swaps
from penstock.log.segment import Segment
from penstock.world.ports import File

if TYPE_CHECKING:
    from penstock.log.compaction_plan import Stretch
    from penstock.log.partition_log import PartitionLog

lines = logging.getLogger(__name__)


def begin(log: PartitionLog, base: int) -> Segment:
    """A segment to write to, in files that nobody reads yet."""
    take_back(log, base)  # what a pass may have left that failed, and could not even be undone
    target = Segment(log.disk, log.folder, base, layout.CLEANED)
    target.begin()
    target.remove()
    return target


def complete(target: Segment) -> list[File]:
    """All batches are in it; returns what is to be synced before `decide`."""
    target.write_indexes()
    files, target.unsynced_indexes = [target.file, *target.unsynced_indexes], []
    return files


def decide(log: PartitionLog, target: Segment, end: int) -> None:
    """With the last rename the new segment stands for the old ones; sync the folder next.

    Snapshots of producers within the stretch go before that: they may have a transaction open
    whose marker is now gone, and it would never end.
    """
    snapshotting.drop_within(log, target.base, end)
    target.rename(layout.swap_suffix(end))


def finish(log: PartitionLog, old: Stretch, target: Segment) -> list[str]:
    """Returns the old files, to be removed once nobody reads them. With OSError, `discard`."""
    paths: list[str] = []
    for segment in old.segments:
        paths += _set_aside(segment, log.revision)
    _put_in_place(target)
    for segment in old.segments:
        log.indexes.drop(segment)
        for file in segment.unsynced_indexes:
            file.close()
        text = "%s: segment %d of %d bytes goes: it is compacted, into the one of %d bytes at %d"
        lines.info(text, log.folder, segment.base, segment.size, target.size, target.base)
    first = log.segments.index(old.segments[0])
    log.segments[first : first + len(old.segments)] = [target]
    log.rolled = [segment for segment in log.rolled if segment not in old.segments]
    log.revision += 1
    log.forget_marks()
    log.indexes.remember(target)
    log.note_folder(log.folder)
    return paths


def discard(log: PartitionLog, target: Segment) -> None:
    """As if it had never been begun."""
    target.file.close()
    if log.is_deleted:
        return  # with all its files; the folder may be another log's by now
    take_back(log, target.base)
    target.suffix = layout.CLEANED
    target.remove()


def take_back(log: PartitionLog, offset: int) -> None:
    """Nothing is to stand any more for segments past an offset: they stay, or change otherwise.

    They get their own names again first, or a crash in between would lose them.
    """
    for segment in log.segments:
        if segment.suffix:
            segment.rename("")
    for name in log.disk.list(log.folder):
        end = unfinished_swaps.end_of_swap(name)
        if end is not None and end > offset:
            log.disk.remove(f"{log.folder}/{name}")
            log.note_folder(log.folder)


def _set_aside(segment: Segment, revision: int) -> list[str]:
    """By a name that no other pass gives: those who read the files may have to open them again."""
    suffix = f".{revision}{layout.DELETED}"
    try:
        return segment.rename(suffix)
    except OSError:
        segment.suffix = suffix  # some of its files have it: `take_back` gives them their names
        raise


def _put_in_place(target: Segment) -> None:
    try:
        target.rename("")
    except OSError:
        for kind in layout.INDEX_SUFFIXES:  # or they would be taken for the old segment's
            with suppress(OSError):
                target.disk.remove(target.prefix + kind)
        raise
