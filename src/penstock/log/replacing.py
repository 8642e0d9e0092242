"""Putting a compacted segment in the place of those it was made from.

The new one is written beside them with the suffix `.cleaned`, and synced. From its renaming to
`.swap` on it is the truth: a start after a crash completes what is left to do (see `leftovers`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.log import layout
from penstock.log.segment import Segment

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog


def begin_replacement(log: PartitionLog, base: int) -> Segment:
    """An empty segment to fill: `file.append` and `note` for each batch, then `write_indexes`."""
    segment = Segment(log.disk, log.folder, base, layout.CLEANED)
    segment.remove()  # what an earlier attempt may have left
    segment.begin()
    return segment


def replace_segments(log: PartitionLog, old: Sequence[Segment], new: Segment) -> list[str]:
    """Neighbours that are finished give way to one that has been written and synced.

    Returns the files to remove once nobody reads them, after file.delete.delay.ms.
    """
    first = log.segments.index(old[0])
    assert log.segments[first : first + len(old)] == list(old)
    assert old[-1] is not log.active
    assert new.base == old[0].base
    new.rename(layout.SWAP)
    log.disk.sync_folder(log.folder)
    files: list[str] = []
    for segment in old:
        files += segment.rename(layout.DELETED)
        log.indexes.drop(segment)
    new.rename("")
    log.segments[first : first + len(old)] = [new]
    log.rolled = [segment for segment in log.rolled if segment not in old]
    log.indexes.remember(new)
    log.forget_marks()
    log.note_folder(log.folder)
    return files
