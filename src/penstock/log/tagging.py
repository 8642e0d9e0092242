"""The tag indexes of a log's segments, for who reads views: made, kept, and skipped by."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.log import tag_files
from penstock.log.tag_index import NAMES_MAX, Block, TagIndex

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog
    from penstock.log.reading import Slice
    from penstock.log.segment import Segment

lines = logging.getLogger(__name__)


class TagCache:
    """Which segments have theirs in memory, over all logs of a broker. The least recently used
    leave first: they are on disk, or are made anew."""

    __slots__ = ("_limit", "_total", "_weights")

    def __init__(self, limit_bytes: int = 32 << 20) -> None:
        self._limit = limit_bytes
        self._weights: OrderedDict[Segment, int] = OrderedDict()
        self._total = 0

    def use(self, segment: Segment) -> None:
        """It may have grown since the last time."""
        assert segment.tags is not None
        self.drop(segment)
        self._weights[segment] = weight = segment.tags.weight
        self._total += weight
        while len(self._weights) > 1 and self._total > self._limit:
            oldest = next(iter(self._weights))
            self.drop(oldest)
            oldest.tags = None

    def drop(self, segment: Segment) -> None:
        """The segment is gone, perhaps."""
        self._total -= self._weights.pop(segment, 0)


def known(log: PartitionLog, segment: Segment, cold_ok: bool) -> TagIndex | None:
    """What there is already, in memory or on disk. Cold where that has to be read first."""
    if segment.tags is None and segment is not log.active:
        segment.tags = tag_files.load(segment, cold_ok)
        if segment.tags is not None:
            log.indexes.tags.use(segment)
    index = segment.tags
    return index if index is not None and index.cuts == segment.cuts else None


def segment_read(log: PartitionLog, found: Slice) -> Segment:
    at = log.segment_of(found.offset)
    while log.segments[at].file is not found.range.file:  # compaction may leave empty ones
        at += 1
    return log.segments[at]


def index_of(
    log: PartitionLog, segment: Segment, names: tuple[bytes, ...], cold_ok: bool
) -> TagIndex:
    """Begun anew where it has not got all of these names, and has room for more. Those that it has
    stay, or views that ask for too many between them would take it from each other for ever."""
    index = known(log, segment, cold_ok)
    if index is None:
        index = segment.tags = TagIndex(names[:NAMES_MAX], segment.cuts)
        return index
    room = max(NAMES_MAX - len(index.names), 0)
    more = [name for name in names if name not in index.names][:room]
    if more:
        index = segment.tags = TagIndex((*index.names, *more), segment.cuts)
        segment.has_tags = False
    return index


def noted(log: PartitionLog, segment: Segment) -> None:
    """More of a segment is in its index. Once all of it is, and no more will come, it is kept.

    The one before is looked at too: who reads the newest has gone through it before it was rolled.
    """
    if segment.tags is None:
        return
    log.indexes.tags.use(segment)
    at = log.segment_of(segment.base)
    for each in log.segments[max(at - 1, 0) : at + 1]:
        _keep(log, each)


def _keep(log: PartitionLog, segment: Segment) -> None:
    index = segment.tags
    if index is None or index.cuts != segment.cuts or index.bytes != segment.size:
        return
    if segment is log.active or segment.has_tags:
        return
    try:
        tag_files.save(segment)
    except OSError as problem:
        segment.has_tags = True  # once is enough: what is in memory serves until the next start
        lines.warning("%s: the index of tags was not kept: %s", segment.file.path, problem)


def block_at(log: PartitionLog, offset: int, cold_ok: bool) -> Block | None:
    """What is known of the block that holds an offset."""
    index = known(log, log.segments[log.segment_of(offset)], cold_ok)
    return index.block_at(offset) if index is not None else None


def skipped(
    log: PartitionLog,
    offset: int,
    may_match: Callable[[Block], bool],
    most: int,
    cold_ok: bool,
) -> tuple[int, int]:
    """Where the first block begins from an offset on that may match, or is not known; and the bytes
    that lie before it. No further than `most` blocks."""
    size, at = 0, log.segment_of(offset)
    for segment in log.segments[at:]:
        index = known(log, segment, cold_ok)
        if index is None:
            break
        offset = max(offset, segment.base)
        while most and (block := index.block_at(offset)) and not may_match(block):
            offset, size, most = block.end, size + block.size, most - 1
        if not most or segment is log.active or offset < log.segments[at + 1].base:
            break
        at += 1
    return offset, size
