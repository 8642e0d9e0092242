"""Reading from a log: where a slice begins, and where it is cut.

The data itself is not looked at on this path, but for the header that a slice begins with.
Boundaries come from the offset index, from headers, and mostly from a few marks: a consumer that
reads on, and the high watermark as it moves, are nearly always at a boundary that was met a moment
ago.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from penstock.errors import ErrorCode, Refused
from penstock.log import scanning
from penstock.log.damage import check_damage, damaged, next_damage
from penstock.log.scanning import LOOKUP_CHUNK_BYTES, NotABatch, Place, Read
from penstock.log.segment import Amiss, Segment
from penstock.wire.batch import BatchHeader
from penstock.world.ports import Cold, FileRange

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog

WARM_TAIL_BYTES = 16 << 20
"""What was appended last is in the page cache: no need to ask."""
MARKS_KEPT = 16

Mark = tuple[Segment, int]
"""The boundary before the first batch that does not lie wholly below some offset."""


class Slice(NamedTuple):
    """Whole batches, as they lie in the file."""

    range: FileRange
    offset: int
    """What was asked for; it lies in the first batch, or before it where compaction left a gap."""
    next_offset: int
    """Every record in the slice is below; where to go on reading."""


def bytes_of(found: Slice, cold_ok: bool) -> memoryview:
    """Raises Cold where they would have to be waited for, unless that is all right."""
    part = found.range
    read = part.file.read if cold_ok else part.file.read_cached
    return memoryview(read(part.position, part.length))


def read(
    log: PartitionLog, offset: int, max_bytes: int, before: int, at_least_one: bool, cold_ok: bool
) -> Slice | None:
    if not log.is_open:
        log.open()
    check_range(log, offset)
    if log.pending:
        log.write_out()
    stretch = next_damage(log.damage, offset, before) if log.damage else None
    if stretch is not None:
        before = stretch.first_offset
    if offset >= before:
        return None
    segment, start = log.marks.get(offset) or locate(log, offset, cold_ok)
    while start >= segment.size and segment is not log.active:  # some are empty: all compacted
        segment, start = _after(log, segment)
    if segment.base > offset and not log.may_have_gaps:
        raise Amiss(log.segments[log.segment_of(offset)])
    end, next_offset = _limit(log, segment, before, cold_ok)
    if end <= start and stretch is not None:  # compaction has left nothing before it
        raise damaged(stretch)
    if end - start > max_bytes:
        end, next_offset = _cut(log, segment, start, max_bytes, at_least_one, cold_ok)
    if end <= start:
        return None
    found = Slice(FileRange(segment.file, start, end - start), offset, next_offset)
    if segment is not log.active or start < max(segment.own_from, segment.size - WARM_TAIL_BYTES):
        _check(log, found, segment, cold_ok)
    return found


def _check(log: PartitionLog, found: Slice, segment: Segment, cold_ok: bool) -> None:
    """That it is in memory, and begins with a batch: who were given none would ask for ever."""
    file, start, length = found.range.file, found.range.position, found.range.length
    if not (cold_ok or file.is_cached(start, length)):
        raise Cold(file, start, length)
    try:
        place = scanning.place_at(segment.reader(cold_ok), start, segment.size, segment.gaps)
    except NotABatch:
        raise Amiss(segment) from None
    if place.last_offset < found.offset:
        raise Amiss(segment)
    check_offsets(log, segment, place, found.offset)
    _check_neighbour(log, segment, place, cold_ok)


def _check_neighbour(log: PartitionLog, segment: Segment, place: Place, cold_ok: bool) -> None:
    """A wrong header shows in the batch after it, which is not there, or takes offsets back."""
    after = place.position + place.size
    if after >= segment.size or after in segment.gaps:
        return
    try:
        following = scanning.place_at(segment.reader(cold_ok), after, segment.size)
    except NotABatch:
        raise Amiss(segment) from None
    check_follows(log, segment, following, place.last_offset + 1)


def find(log: PartitionLog, segment: Segment, offset: int, cold_ok: bool) -> Place | None:
    """The batch of a segment that holds an offset, or the next one."""
    place = segment.find(offset, log.indexes, cold_ok)
    if place is not None:
        check_offsets(log, segment, place, offset)
    return place


def check_offsets(
    log: PartitionLog, segment: Segment, place: Place | BatchHeader, offset: int
) -> None:
    """No checksum covers a batch's offset. One that reaches past its segment is wrong, and so is,
    where there are no gaps, one that is past what was looked for."""
    if place.last_offset >= end_of(log, segment):
        raise Amiss(segment)
    if place.base_offset > offset and not log.may_have_gaps and not _is_damaged(log, offset):
        raise Amiss(segment)


def check_follows(
    log: PartitionLog, segment: Segment, place: Place | BatchHeader, offset: int
) -> None:
    """The same of a batch that comes after one that ended before an offset."""
    if place.base_offset < offset:
        raise Amiss(segment)
    check_offsets(log, segment, place, offset)


def end_of(log: PartitionLog, segment: Segment) -> int:
    """The offset that none of its batches reach."""
    if segment is log.active:
        return log.end_offset
    return log.segments[log.segment_of(segment.base) + 1].base


def _is_damaged(log: PartitionLog, offset: int) -> bool:
    return any(stretch.first_offset <= offset < stretch.end_offset for stretch in log.damage)


def check_range(log: PartitionLog, offset: int) -> None:
    """That an offset is one to read on from."""
    if offset < log.start_offset or offset > log.end_offset:
        raise out_of_range(log, offset)


def out_of_range(log: PartitionLog, offset: int) -> Refused:
    return Refused(
        ErrorCode.OFFSET_OUT_OF_RANGE,
        f"offset {offset} is not within {log.start_offset} and {log.end_offset}",
    )


def locate(log: PartitionLog, offset: int, cold_ok: bool) -> Mark:
    """Where to begin reading for an offset; the end of the log if nothing is at or past it."""
    segment = log.segments[-1]
    for segment in log.segments[log.segment_of(offset) :]:
        if segment.base >= offset:
            return segment, 0
        place = find(log, segment, offset, cold_ok)
        if place is not None:
            mark(log, offset, segment, place.position)
            return segment, place.position
    return segment, segment.size


def batch_at(log: PartitionLog, offset: int, cold_ok: bool) -> Mark | None:
    """Where the batch that holds an offset begins, or the next one; for who takes several steps,
    between which the log may have become another. What is damaged tells nothing."""
    if log.is_deleted or offset >= log.end_offset:
        return None
    offset = max(offset, log.start_offset)
    check_damage(log.damage, offset, offset)
    segment, position = log.marks.get(offset) or locate(log, offset, cold_ok)
    while position >= segment.size and segment is not log.active:  # all compacted away
        segment, position = _after(log, segment)
    return segment, segment.gaps.get(position, position)


def _after(log: PartitionLog, segment: Segment) -> Mark:
    return log.segments[log.segment_of(segment.base) + 1], 0


def _limit(log: PartitionLog, segment: Segment, before: int, cold_ok: bool) -> tuple[int, int]:
    """The end of what may be read of a segment: (position, offset)."""
    if segment is log.active:
        if before >= log.end_offset:
            mark(log, log.end_offset, segment, segment.size)
            return segment.size, log.end_offset
    else:
        following = end_of(log, segment)
        if before >= following:
            return segment.size, following
    for stretch in log.damage:
        if stretch.first_offset == before and stretch.segment_base == segment.base:
            return stretch.position, before
    known = log.marks.get(before)
    if known is not None and known[0] is segment:
        return known[1], before
    place = find(log, segment, before, cold_ok)
    position = segment.size if place is None else place.position
    mark(log, before, segment, position)
    return position, before


def _cut(
    log: PartitionLog,
    segment: Segment,
    start: int,
    max_bytes: int,
    at_least_one: bool,
    cold_ok: bool,
) -> tuple[int, int]:
    """The last boundary that is known to lie within so many bytes, and the offset there."""
    offsets = segment.offsets or log.indexes.load(segment, cold_ok)
    entry = offsets.entry_at_most(start + max_bytes)
    try:
        if entry < 0 or offsets.positions[entry] <= start:
            read_at = segment.reader(cold_ok)
            return _cut_by_headers(log, segment, start, max_bytes, at_least_one, read_at)
        place = segment.place_of(entry, cold_ok)
    except Cold as cold:
        raise Cold(segment.file, start, cold.position + cold.length - start) from None
    except NotABatch:
        raise Amiss(segment) from None
    mark(log, place.base_offset, segment, place.position)
    return place.position, place.base_offset


def _cut_by_headers(
    log: PartitionLog,
    segment: Segment,
    start: int,
    max_bytes: int,
    at_least_one: bool,
    read_at: Read,
) -> tuple[int, int]:
    """The same where no index entry lies in the stretch."""
    end, next_offset = start, 0
    places = scanning.places(read_at, start, segment.size, LOOKUP_CHUNK_BYTES, segment.gaps)
    for place in places:
        beyond = place.position + place.size
        if beyond > start + max_bytes and not (at_least_one and end == start):
            break
        if end > start:
            check_follows(log, segment, place, next_offset)
        end, next_offset = beyond, place.last_offset + 1
        if end >= start + max_bytes:  # what comes next may be damaged, and is not needed
            break
    if end > start:
        mark(log, next_offset, segment, end)
    return end, next_offset


def mark(log: PartitionLog, offset: int, segment: Segment, position: int) -> None:
    """Remember a boundary: the next read, or the next limit, is likely to be there."""
    marks = log.marks
    if offset not in marks:
        if len(marks) >= MARKS_KEPT:
            del marks[next(iter(marks))]
        marks[offset] = segment, position
