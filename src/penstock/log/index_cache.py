"""Which indexes of finished segments are in memory, over all logs of a broker."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from penstock.log.tagging import TagCache

if TYPE_CHECKING:
    from penstock.log.offset_index import OffsetIndex
    from penstock.log.segment import Segment


class IndexCache:
    """The least recently used leave first."""

    __slots__ = ("_entries", "_limit_entries", "_loaded", "tags")

    def __init__(self, limit_entries: int = 1 << 20) -> None:
        self._limit_entries = limit_entries
        self._loaded: OrderedDict[Segment, int] = OrderedDict()
        self._entries = 0
        self.tags = TagCache()

    def load(self, segment: Segment, cold_ok: bool = True) -> OffsetIndex:
        """Also for those in memory: an empty index is false, and ends up here."""
        if segment.offsets is None:
            segment.load_indexes(cold_ok)
            self.remember(segment)
        elif segment in self._loaded:
            self._loaded.move_to_end(segment)
        assert segment.offsets is not None
        return segment.offsets

    def remember(self, segment: Segment) -> None:
        if segment.offsets is None or segment.times is None:
            return
        self._forget(segment)
        self._loaded[segment] = size = len(segment.offsets) + len(segment.times) + 64
        self._entries += size
        while len(self._loaded) > 1 and self._entries > self._limit_entries:
            oldest = next(iter(self._loaded))
            self._forget(oldest)
            oldest.forget_indexes()

    def drop(self, segment: Segment) -> None:
        """The segment is gone, or grows again and keeps its indexes itself."""
        self._forget(segment)
        self.tags.drop(segment)

    def _forget(self, segment: Segment) -> None:
        self._entries -= self._loaded.pop(segment, 0)
