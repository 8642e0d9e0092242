"""After a stop that was not clean: what of the log can be believed.

Everything past the recovery point, and the segment that it lies in, is read and checked batch by
batch. At the tail the first bad batch ends the log: it was never synced, so never promised. Below
the recovery point a bad batch was promised, and is kept and reported as damage instead. Indexes and
producer state are made anew on the way. Interrupted at any point and begun again it comes to the
same end.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from penstock.errors import Refused
from penstock.log import layout, loading, notes, truncation
from penstock.log.damage import Damage
from penstock.log.leader_epochs import LeaderEpochs
from penstock.log.segment import Segment
from penstock.wire import batch as batches
from penstock.wire.batch import HEADER_SIZE, BatchHeader
from penstock.world.ports import File

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog

CHUNK_BYTES = 1 << 20
BATCHES_A_SLICE = 500
LARGE_BYTES = 1 << 18
SEARCH_BYTES = 1 << 18
RELATIVE_OFFSET_MAX = 0x7FFFFFFF


def recover(log: PartitionLog) -> Iterator[None]:
    """Yields between slices of work of a few milliseconds."""
    loading.find_segments(log)
    if not log.segments:
        _recover_empty(log)
        return
    log.recovery_point = max(log.recovery_point, log.segments[0].base)
    first = log.segment_of(log.recovery_point)
    for segment in log.segments[:first]:
        _check_indexes(segment)
        yield
    scanned_from = log.segments[first].base
    log.damage = [d for d in notes.read_damage(log) if d.segment_base < scanned_from]
    loading.mark_gaps(log)
    log.epochs = notes.read_epochs(log) or _epochs_before(log, scanned_from)
    log.epochs.truncate_end(scanned_from)
    for segment in log.segments[first:]:
        segment.size = 0
    yield from loading.rebuild_producers(log, scanned_from)
    yield from Scan(log).run(first)
    log.start_offset = max(log.start_offset, log.segments[0].base)
    log.epochs.truncate_start(log.start_offset)
    log.written_end = log.end_offset
    log.synced_end = min(log.recovery_point, log.end_offset)
    notes.write_damage(log)
    log.is_open = True
    if log.end_offset < log.start_offset:
        truncation.start_over(log, log.start_offset)


def _recover_empty(log: PartitionLog) -> None:
    """A folder without segments: what the checkpoints promised of it is missing."""
    end = max(log.recovery_point, log.start_offset)
    if log.has_folder and log.start_offset < log.recovery_point:
        log.damage = [Damage(log.start_offset, end, log.start_offset, 0, 0)]
        notes.write_damage(log)
    log.end_offset = log.written_end = log.synced_end = end
    log.is_open = True


def _check_indexes(segment: Segment) -> None:
    """Those of segments below the recovery point were synced with it; missing ones are remade."""
    if all(segment.disk.exists(segment.path(kind)) for kind in (layout.INDEX, layout.TIME_INDEX)):
        return
    segment.load_indexes()
    segment.write_indexes()
    segment.forget_indexes()


def _epochs_before(log: PartitionLog, end: int) -> LeaderEpochs:
    log.end_offset = end
    return loading.rebuild_epochs(log)


class Window:
    """A file read in large pieces and seen as batches."""

    def __init__(self, file: File) -> None:
        self._file = file
        self.size = file.size
        self._chunk = memoryview(b"")
        self._origin = 0

    def get(self, position: int, length: int) -> memoryview:
        """Shorter at the end of the file."""
        start = position - self._origin
        if start < 0 or start + length > len(self._chunk):
            self._chunk = memoryview(self._file.read(position, max(length, CHUNK_BYTES)))
            self._origin, start = position, 0
        return self._chunk[start : start + length]

    def good_batch(self, position: int, least_offset: int) -> BatchHeader | None:
        """The header of the batch at a position if every byte of it can be believed."""
        head = self.get(position, HEADER_SIZE)
        if len(head) < HEADER_SIZE:
            return None
        size = batches.size_at(head)
        if size < HEADER_SIZE or position + size > self.size:
            return None
        try:
            header = batches.check(self.get(position, size))
        except Refused:
            return None
        if header.base_offset < least_offset or header.last_offset_delta < 0:
            return None
        if header.base_offset > least_offset and not self._may_skip(position, header, least_offset):
            return None
        return header

    def _may_skip(self, position: int, header: BatchHeader, least_offset: int) -> bool:
        """Compaction leaves gaps; but no CRC covers the offset, so a gap that is too wide for one
        segment, or that the next batch takes back, is a fault of this batch."""
        if header.last_offset - least_offset > RELATIVE_OFFSET_MAX:
            return False
        following = self.get(position + header.size, HEADER_SIZE)
        if len(following) < HEADER_SIZE:
            return True
        base: int = batches.read_header(following).base_offset
        return not least_offset < base <= header.last_offset


class Scan:
    """One pass over the segments that are not to be trusted."""

    def __init__(self, log: PartitionLog) -> None:
        self.log = log
        self.expected = 0
        """The least offset that the next batch can have."""
        self.count = 0

    def run(self, first: int) -> Iterator[None]:
        log = self.log
        for number in range(first, len(log.segments)):
            segment = log.segments[number]
            following = log.segments[number + 1].base if number + 1 < len(log.segments) else None
            cut = yield from self._segment(segment, following)
            if cut and following is not None:
                for later in log.segments[number + 1 :]:
                    later.remove()
                del log.segments[number + 1 :]
            if cut or following is None:
                break
            segment.write_indexes()
            segment.forget_indexes()
            log.rolled.append(segment)
        self._finish()

    def _finish(self) -> None:
        log = self.log
        log.active = active = log.segments[-1]
        if self.expected < log.recovery_point:
            self._note_damage(active, active.size, active.size, log.recovery_point)
            active.sealed = True
        log.end_offset = self.expected
        truncation.drop_snapshots_after(log, log.end_offset)

    def _segment(self, segment: Segment, following: int | None) -> Generator[None, None, bool]:
        """Returns whether the log was cut off in this segment."""
        window = Window(segment.file)
        segment.begin()
        segment.size = segment.indexed_at = 0
        self.expected = max(self.expected, segment.base)
        while segment.size < window.size:
            header = window.good_batch(segment.size, self.expected)
            if header is not None:
                self._take(segment, header)
            elif self.expected >= self.log.recovery_point:
                segment.file.truncate(segment.size)
                return True
            else:
                yield from self._skip(segment, window, following)
            self.count += 1
            if self.count % BATCHES_A_SLICE == 0 or (header and header.size > LARGE_BYTES):
                yield
        return False

    def _take(self, segment: Segment, header: BatchHeader) -> None:
        log, position = self.log, segment.size
        segment.note(
            header.last_offset,
            header.size,
            header.newest_timestamp,
            log.config.index_interval_bytes,
        )
        if header.leader_epoch != log.epochs.latest:
            log.epochs.assign(header.leader_epoch, header.base_offset)
        aborted = loading.feed(log.producers, segment, position, header)
        if aborted is not None and segment.aborted is not None:
            segment.aborted.append(aborted)
        self.expected = header.next_offset

    def _skip(self, segment: Segment, window: Window, following: int | None) -> Iterator[None]:
        """Synced once, and bad now: keep it, and go on with the next batch that is good."""
        position = segment.size
        found = yield from self._next_good(window, position + 1)
        if found is not None:
            after, end_offset = found
        else:
            after = window.size
            end_offset = self.log.recovery_point if following is None else following
            segment.sealed = True
        self._note_damage(segment, position, after, end_offset)
        segment.size = after
        segment.indexed_at = position - (1 << 31)  # so that the next batch is indexed

    def _note_damage(self, segment: Segment, position: int, after: int, end_offset: int) -> None:
        log = self.log
        log.damage.append(Damage(self.expected, end_offset, segment.base, position, after))
        segment.gaps = {**(segment.gaps or {}), position: after}
        self.expected = end_offset

    def _next_good(
        self, window: Window, position: int
    ) -> Generator[None, None, tuple[int, int] | None]:
        """Position and base offset of the next batch that can be believed."""
        high = self.expected.to_bytes(8, "big")[:4]
        looks_like_one = re.compile(b"(?=" + re.escape(high) + b".{12}\\x02)", re.DOTALL)
        while position + HEADER_SIZE <= window.size:
            piece = bytes(window.get(position, min(SEARCH_BYTES, window.size - position)))
            for match in looks_like_one.finditer(piece):
                header = window.good_batch(position + match.start(), self.expected)
                if header is not None:
                    return position + match.start(), header.base_offset
            position += max(len(piece) - HEADER_SIZE, 1)
            yield
        return None
