"""What recovery cuts off a log, and what of it is kept beside the log.

Later segments go first, and from the end: what an interruption leaves is cut off at the same place
by the next try.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.log import layout

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog
    from penstock.log.segment import Segment

PIECE_BYTES = 1 << 20
KEPT_MAX = 20
"""Files of earlier recoveries that stay, of one log."""

lines = logging.getLogger(__name__)


def cut(log: PartitionLog, number: int, first_offset: int) -> None:
    """The log ends in this segment, where its size says."""
    for later in reversed(log.segments[number + 1 :]):
        if later.file.size:
            kept = later.rename(layout.TORN)
            lines.warning("%s was cut off the log, and set aside", kept[-1])
        else:
            later.remove()
        log.segments.remove(later)
        log.note_folder(log.folder)
    log.was_cut = True
    cut_file(log.segments[number], first_offset)


def cut_file(segment: Segment, first_offset: int) -> None:
    size = segment.file.size
    if segment.size < size:
        segment.file.truncate(segment.size)
        lines.warning(
            "%s: %d bytes that offset %d should begin are no batch, and were cut off",
            segment.file.path,
            size - segment.size,
            first_offset,
        )


def cut_unsynced(log: PartitionLog, number: int, first_offset: int) -> Iterator[None]:
    """The same where good batches go with it: those of its own file are kept as well."""
    _make_place(log)
    text = "%s: offsets from %d on were never synced, and a crash has lost some of them: what it "
    text += "left is cut off, and kept in files that end with %s"
    lines.warning(text, log.folder, first_offset, layout.TORN)
    yield from _keep(log, log.segments[number], first_offset)
    cut(log, number, first_offset)


def _keep(log: PartitionLog, segment: Segment, first_offset: int) -> Iterator[None]:
    size = segment.file.size
    if segment.size == size:
        return
    name = layout.offset_name(first_offset) + layout.LOG + layout.TORN
    kept = log.disk.open(f"{log.folder}/{name}")
    kept.truncate(0)  # by an earlier try
    for position in range(segment.size, size, PIECE_BYTES):
        kept.append([segment.file.read(position, PIECE_BYTES)])
        yield
    kept.sync()
    kept.close()
    log.note_folder(log.folder)


def _make_place(log: PartitionLog) -> None:
    """Those that have been there for longest go, with their indexes."""
    disk, ending = log.disk, layout.LOG + layout.TORN
    paths = [f"{log.folder}/{name}" for name in disk.list(log.folder) if name.endswith(ending)]
    paths.sort(key=disk.modified_ms)
    for path in paths[:-KEPT_MAX]:
        for kind in layout.SEGMENT_SUFFIXES:
            disk.remove(path.removesuffix(ending) + kind + layout.TORN)
