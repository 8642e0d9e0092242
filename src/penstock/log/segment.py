"""One segment: a stretch of the log in a file of its own, with the indexes that find things in it.

The last segment of a log grows, and has its indexes in memory. A finished one has them on disk;
what is loaded of them is bounded by the `IndexCache` that all logs share. An index that is missing
or wrong is made again from the batches, which are the only truth.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from typing import TYPE_CHECKING

from crc32c import crc32c

from penstock.config import TopicConfig
from penstock.log import aborted_index, drafting, layout, scanning
from penstock.log.aborted_index import AbortedTxn
from penstock.log.offset_index import ENTRY_SIZE as OFFSET_ENTRY_SIZE
from penstock.log.offset_index import OffsetIndex
from penstock.log.scanning import (
    NO_GAPS,
    Gaps,
    NotABatch,
    Place,
    Read,
)
from penstock.log.steps import Pauses
from penstock.log.tag_index import TagIndex
from penstock.log.time_index import ENTRY_SIZE as TIME_ENTRY_SIZE
from penstock.log.time_index import TimeIndex
from penstock.wire.batch import NO_TIMESTAMP
from penstock.world.ports import Disk, File

if TYPE_CHECKING:
    from penstock.log.index_cache import IndexCache

RESERVED_MAX = 8 << 20


class Amiss(Exception):
    """Indexes that do not lead to batches, or bytes that are none: `reindexing` finds out which.

    Afterwards whoever met this asks again.
    """

    def __init__(self, segment: Segment) -> None:
        super().__init__(f"{segment.file.path} and its indexes do not agree")
        self.segment = segment


class Unsure(Amiss):
    """Only how new the segment's newest record is: `newest` finds out."""


class Segment:
    __slots__ = (
        "aborted",
        "base",
        "cuts",
        "disk",
        "file",
        "first_timestamp",
        "gaps",
        "has_aborted",
        "has_tags",
        "indexed_at",
        "is_being_reindexed",
        "max_timestamp",
        "max_timestamp_offset",
        "newest_is_sure",
        "offsets",
        "own_from",
        "prefix",
        "reserved",
        "sealed",
        "size",
        "suffix",
        "tags",
        "times",
        "times_reindexed",
        "unsynced_indexes",
        "written_back",
    )

    def __init__(self, disk: Disk, folder: str, base: int, suffix: str = "") -> None:
        """With a suffix (`.cleaned`) it is one in the making, which is to replace others."""
        self.disk = disk
        self.base = base
        self.prefix = f"{folder}/{layout.offset_name(base)}"
        self.suffix = suffix
        self.file: File = disk.open(self.path(layout.LOG))
        self.size = 0
        """With what is appended but not written out yet."""
        self.offsets: OffsetIndex | None = None
        self.times: TimeIndex | None = None
        self.aborted: list[AbortedTxn] | None = None
        self.indexed_at = 0
        self.sealed = False
        """Nothing may be added after what is there."""
        self.gaps: Gaps = NO_GAPS
        self.first_timestamp = NO_TIMESTAMP
        """The first batch's, or when it was appended; says how old the segment is."""
        self.max_timestamp = NO_TIMESTAMP
        self.max_timestamp_offset = base
        self.newest_is_sure = False
        """The largest timestamp is what the batches say, not only an index."""
        self.own_from = 0
        """From here on the bytes are what this process has written."""
        self.has_aborted = False
        """Whether transactions were aborted in it, so that there is an index of them."""
        self.is_being_reindexed = False
        self.times_reindexed = 0
        self.cuts = 0
        """How often it was made shorter: what was read of it before may stand there no more."""
        self.reserved = 0
        """Up to where there is room on the disk for sure."""
        self.written_back = 0
        """Up to where the kernel has been asked to begin writing."""
        self.unsynced_indexes: list[File] = []
        self.tags: TagIndex | None = None
        """What views have been told of it."""
        self.has_tags: bool | None = None
        """Whether that is on disk too; None where nobody has looked yet."""

    def blank(self) -> Segment:
        """One of the same name that nothing is known of yet."""
        return Segment(self.disk, self.prefix.rpartition("/")[0], self.base)

    def path(self, kind: str) -> str:
        return self.prefix + kind + self.suffix

    def begin(self) -> None:
        """A segment without batches, ready to grow."""
        self.offsets, self.times, self.aborted = OffsetIndex(), TimeIndex(), []
        self.newest_is_sure = True

    def note(self, last_offset: int, size: int, max_timestamp: int, interval: int) -> None:
        """A batch was added at the end."""
        position = self.size
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.max_timestamp_offset = last_offset
        if position == 0:
            self.first_timestamp = max_timestamp
        elif position - self.indexed_at > interval:
            assert self.offsets is not None
            assert self.times is not None
            self.offsets.add(last_offset - self.base, position)
            self.times.add(self.max_timestamp, self.max_timestamp_offset - self.base)
            self.indexed_at = position
        self.size = position + size

    def reserve(self, limit: int) -> None:
        """Much is about to be written, and more may follow: the disk finds room for it at once,
        which costs less than page by page. In proportion, so that little is taken in vain."""
        ahead = min(self.size // 4, RESERVED_MAX)
        self.reserved = max(self.size, min(self.size + ahead, limit))
        self.file.reserve(self.reserved)

    def note_gap(self, position: int, end_position: int) -> None:
        """A stretch is damaged: nobody is to look for batches in it any more."""
        self.gaps = {**self.gaps, position: end_position}

    def is_full(self, index_bytes: int) -> bool:
        """Whether an index has no room left. The time index has the larger entries."""
        offsets = self.offsets
        return self.sealed or (offsets is not None and len(offsets.lasts) * 12 >= index_bytes)

    def jitter_ms(self, config: TopicConfig) -> int:
        """How much earlier than others this segment rolls; the same whenever it is asked."""
        jitter = config.segment_jitter_ms
        return crc32c(self.prefix.encode()) % jitter if jitter else 0

    def reader(self, cold_ok: bool) -> Read:
        return self.file.read if cold_ok else self.file.read_cached

    def find(self, offset: int, cache: IndexCache, cold_ok: bool) -> Place | None:
        """The batch that holds an offset, or the next one after it in this segment."""
        offsets = self.offsets or cache.load(self, cold_ok)
        entry = offsets.entry_before(offset - self.base)
        start = 0
        if entry >= 0:
            place = self.place_of(entry, cold_ok)
            if place.last_offset >= offset:
                return place
            start = place.position + place.size
        return self._find_from(start, offset, cold_ok)

    def find_now(self, offset: int, cache: IndexCache) -> Place | None:
        """The same for who can wait, also until a wrong index is made again."""
        try:
            return self.find(offset, cache, cold_ok=True)
        except Amiss:
            drafting.rebuild(self)
        return self.find(offset, cache, cold_ok=True)

    def place_of(self, entry: int, cold_ok: bool) -> Place:
        """The batch that an entry of the offset index leads to, if it is the one that is meant."""
        offsets = self.offsets
        assert offsets is not None
        position = offsets.positions[entry]
        try:
            place = scanning.place_at(self.reader(cold_ok), position, self.size, self.gaps)
        except NotABatch:
            raise Amiss(self) from None
        if place.last_offset != self.base + offsets.lasts[entry]:
            raise Amiss(self)
        return place

    def _find_from(self, start: int, offset: int, cold_ok: bool) -> Place | None:
        read = self.reader(cold_ok)
        while True:
            try:
                return scanning.find(read, start, self.size, offset, self.gaps)
            except NotABatch as problem:
                if problem.position not in self.gaps:
                    raise Amiss(self) from None
                start = self.gaps[problem.position]

    def load_indexes(self, cold_ok: bool = True, *, rebuild: bool = True) -> None:
        """From their files, or from the batches where the files will not do.

        That takes long: who cannot wait for it, or for a cold read, gets Amiss instead.
        """
        data = self.read_index(layout.INDEX, cold_ok)
        offsets = OffsetIndex.decode(data, self.size)
        times = TimeIndex.decode(self.read_index(layout.TIME_INDEX, cold_ok))
        aborted = self.read_index(layout.TXN_INDEX, cold_ok) if self.has_aborted else b""
        if self.size and not (times and (data or self.disk.exists(self.path(layout.INDEX)))):
            times = None  # one of them is missing
        elif times and self.newest_is_sure and times.timestamps[-1] != self.max_timestamp:
            times = None
        self.aborted = aborted_index.decode(aborted, self.path(layout.TXN_INDEX))
        if offsets is None or times is None:
            if not (cold_ok and rebuild):
                raise Amiss(self)
            drafting.rebuild(self)
        else:
            self.offsets, self.times = offsets, times
            self._take_newest(times)
            self.indexed_at = offsets.positions[-1] if offsets else 0

    def _take_newest(self, times: TimeIndex) -> None:
        if times:
            self.max_timestamp = times.timestamps[-1]
            self.max_timestamp_offset = self.base + times.offsets[-1]

    def largest_timestamp(self, cold_ok: bool = True) -> int:
        """Of a finished segment this is the last entry of its time index, which may be wrong:
        `newest.sure_newest` is for who cannot live with that."""
        if self.max_timestamp < 0 and self.times is None and self.size:
            last = self._last_of_times(cold_ok)
            if last:
                self._take_newest(last)
            elif cold_ok:
                drafting.remake_on_disk(self)
            else:
                raise Amiss(self)
        return self.max_timestamp

    def _last_of_times(self, cold_ok: bool) -> TimeIndex | None:
        file = self.disk.open(self.path(layout.TIME_INDEX))
        read, size = file.read if cold_ok else file.read_cached, file.size
        try:
            if size % TIME_ENTRY_SIZE:
                return None
            return TimeIndex.decode(read(max(size - TIME_ENTRY_SIZE, 0), TIME_ENTRY_SIZE))
        finally:
            file.close()

    def has_indexes(self) -> bool:
        """Whether their files are there, and of a length that they can have."""
        if not self._last_of_times(cold_ok=True):
            return not self.size
        return self.disk.exists(self.path(layout.INDEX))

    def last_indexed(self, cold_ok: bool) -> tuple[int, int] | None:
        """Where the last batch is that has an entry in the offset index, and its last offset."""
        if self.offsets is not None:
            if not self.offsets:
                return None
            return self.offsets.positions[-1], self.base + self.offsets.lasts[-1]
        file = self.disk.open(self.path(layout.INDEX))
        read, size = file.read if cold_ok else file.read_cached, file.size
        try:
            index = OffsetIndex.decode(read(max(size - OFFSET_ENTRY_SIZE, 0), size), self.size)
        finally:
            file.close()
        return (index.positions[-1], self.base + index.lasts[-1]) if index else None

    def next_offset(self) -> Generator[None, None, int]:
        """After the last batch; the base of a segment without one. A few headers tell, or, where
        the index has less than it should, many: so this yields now and then."""
        assert self.offsets is not None
        start = self.offsets.positions[-1] if self.offsets else 0
        end, pauses = self.base, Pauses()
        for place in scanning.places(self.file.read, start, self.size, gaps=self.gaps):
            end = place.last_offset + 1
            if pauses.is_due():
                yield
        return end

    def read_index(self, kind: str, cold_ok: bool) -> bytes:
        file = self.disk.open(self.path(kind))
        data = file.read(0, file.size) if cold_ok else file.read_cached(0, file.size)
        file.close()
        return data

    def adopt(self, made: Segment) -> None:
        """Take over what a draft has found out."""
        made.finish_times()
        self.offsets, self.times = made.offsets, made.times
        self.indexed_at = made.indexed_at
        self.max_timestamp = made.max_timestamp
        self.max_timestamp_offset = made.max_timestamp_offset
        self.newest_is_sure = True

    def finish_times(self) -> None:
        """So that the last entry gives the segment's largest timestamp."""
        if self.times is not None and self.size:
            self.times.add(self.max_timestamp, self.max_timestamp_offset - self.base)

    def write_indexes(self) -> None:
        """Not synced here: the files are handed to the next round of syncing."""
        assert self.offsets is not None
        assert self.times is not None
        self.finish_times()
        self.write_index(layout.INDEX, self.offsets.encode())
        self.write_index(layout.TIME_INDEX, self.times.encode())
        if self.aborted or (self.has_aborted and self.aborted is not None):
            self.has_aborted = True
            self.write_index(layout.TXN_INDEX, aborted_index.encode(self.aborted))

    def write_index(self, kind: str, data: bytes) -> None:
        file = self.disk.open(self.path(kind))
        try:
            file.truncate(0)
            file.append([data])
        except OSError:
            file.close()
            with suppress(OSError):  # none at all is made again; half of one may be believed
                self.disk.remove(file.path)
            raise
        self.unsynced_indexes.append(file)

    def forget_indexes(self) -> None:
        self.offsets, self.times, self.aborted = None, None, None

    def forget_tags(self) -> None:
        """They are of a finished segment, and this one will grow again."""
        if self.has_tags is not False:
            self.disk.remove(self.path(layout.TAG_INDEX))
        self.tags, self.has_tags = None, False

    def truncate(self, size: int, end_offset: int) -> None:
        """Cut the file at a boundary; for a segment whose indexes are in memory."""
        assert self.offsets is not None
        assert self.times is not None
        assert self.aborted is not None
        self.forget_tags()
        self.file.truncate(size)
        self.size = size
        self.cuts += 1
        self.reserved = 0
        self.gaps = {start: end for start, end in self.gaps.items() if start < size}
        self.written_back = min(self.written_back, size)
        self.own_from = min(self.own_from, size)
        self.newest_is_sure = False
        self.offsets.truncate(size)
        self.times.truncate(end_offset - self.base)
        self.aborted[:] = [entry for entry in self.aborted if entry.last_offset < end_offset]
        self.indexed_at = self.offsets.positions[-1] if self.offsets else 0
        self._find_max_timestamp()

    def _find_max_timestamp(self) -> None:
        """From the last entry that is left, and the batches after it."""
        assert self.times is not None
        assert self.offsets is not None
        self.max_timestamp, self.max_timestamp_offset = NO_TIMESTAMP, self.base
        start = 0
        if self.times:
            self.max_timestamp = self.times.timestamps[-1]
            self.max_timestamp_offset = self.base + self.times.offsets[-1]
            start = self.offsets.position_before(self.times.offsets[-1])
        for _, header in scanning.headers_outside(self.file.read, start, self.size, self.gaps):
            if header.newest_timestamp > self.max_timestamp:
                self.max_timestamp = header.newest_timestamp
                self.max_timestamp_offset = header.last_offset

    def rename(self, suffix: str) -> list[str]:
        """All files of the segment get another suffix; returns their new paths.

        The batches go last: indexes without them are known to be leftovers.
        """
        renamed: list[str] = []
        for kind in reversed(layout.SEGMENT_SUFFIXES):
            old, new = self.path(kind), self.prefix + kind + suffix
            if not self.disk.exists(old):
                continue
            if kind == layout.LOG:
                self.file.rename(new)  # the handle follows, for those who are reading
            else:
                self.disk.rename(old, new)
            renamed.append(new)
        self.suffix = suffix
        return renamed

    def remove(self) -> None:
        for kind in layout.SEGMENT_SUFFIXES:
            self.disk.remove(self.path(kind))
