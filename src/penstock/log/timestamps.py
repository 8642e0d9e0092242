"""Finding offsets by time, exact to the record, in steps.

Segments and the time index say where to begin; from there on it goes by the headers of batches,
some at a time. The first batch that may hold the record is opened off the loop. Nothing but an
offset is kept between two steps, so whatever happens to the log meanwhile, the search goes on in
what the log is then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from penstock.config import TopicConfig
from penstock.errors import Malformed, Refused
from penstock.log import reading, scanning
from penstock.log.newest import sure_newest
from penstock.log.reindexing import reindexed
from penstock.log.scanning import LOOKUP_CHUNK_BYTES, NotABatch
from penstock.log.segment import Amiss, Segment
from penstock.log.steps import Steps
from penstock.wire.batch import NO_TIMESTAMP, BatchHeader
from penstock.wire.batch_builder import records_of
from penstock.wire.records import Cursor, is_far, later
from penstock.world.ports import Cold

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog

SLICE_HEADERS = 256
"""Looked at in one step, at some microseconds each."""
SLICE_SEGMENTS = 64
"""The same for segments, whose time index has to be opened for it."""
EXPANSION_MAX = 16
EXPANDED_BYTES_MIN, EXPANDED_BYTES_MAX = 16 << 20, 64 << 20
"""Batches that are larger than so many of the topic's largest, within these, are not opened."""
WARM_BYTES = 256 << 10
SEARCHES_MAX = 2
NOWHERE = 1 << 63
"""Past every offset."""


class TimedOffset(NamedTuple):
    timestamp: int
    offset: int
    leader_epoch: int


class Candidate(NamedTuple):
    """A batch that says that it has a record which is not older."""

    header: BatchHeader
    data: bytes


class Some(NamedTuple):
    """What one step has seen of a segment: where each batch begins, and its header."""

    headers: list[tuple[int, BatchHeader]]
    next_offset: int
    """Where to go on, in this segment or after it."""
    is_found: bool = False
    """The last one is what was wanted."""


def first_since(
    log: PartitionLog, timestamp: int, before: int, at: int = 0
) -> Steps[TimedOffset | None]:
    """The first record from `at` on and below `before` that is not older than a timestamp."""
    while at < before:
        at, candidate = yield from reindexed(log, partial(_look, log, timestamp, at))
        if candidate is None:
            yield None
            continue
        found: list[TimedOffset] = []
        limit = _expanded_bytes_max(log.config, candidate)
        yield partial(_open, candidate, timestamp, max(at, log.start_offset), limit, found)
        if not found:
            at = candidate.header.last_offset + 1
        elif found[0].offset >= log.start_offset:  # else it was deleted meanwhile
            return found[0] if found[0].offset < min(before, log.end_offset) else None
    return None


def newest(log: PartitionLog, before: int) -> Steps[TimedOffset | None]:
    """The first record below `before` that has the largest timestamp of all there."""
    for _ in range(SEARCHES_MAX):
        start = log.start_offset
        chosen = yield from _newest_segment(log, before)
        if chosen is None:
            return None
        timestamp, segment = chosen
        found = yield from first_since(log, timestamp, before, segment.base)
        if found is None:
            found = yield from _first_batch_since(log, timestamp, before, segment.base)
        if found is not None or (segment in log.segments and log.start_offset == start):
            return found
    return None


def _first_batch_since(
    log: PartitionLog, timestamp: int, before: int, at: int
) -> Steps[TimedOffset | None]:
    """By what batches say of themselves, and as a whole: copies of held records lie in some that
    say when they were written, which is later than any of their records."""
    while at < before:
        at, candidate = yield from reindexed(log, partial(_look, log, timestamp, at))
        if candidate is not None:
            header = candidate.header
            offset = max(header.base_offset, log.start_offset)
            return TimedOffset(header.max_timestamp, offset, header.leader_epoch)
        yield None
    return None


def _newest_segment(log: PartitionLog, before: int) -> Steps[tuple[int, Segment] | None]:
    """The first one with the largest timestamp, and that."""
    chosen: tuple[int, Segment] | None = None
    for number, segment in enumerate(list(log.segments), 1):
        if segment.size and segment.base < before:
            timestamp = yield from _newest_in(log, segment, before)
            if chosen is None or timestamp > chosen[0]:
                chosen = timestamp, segment
        if number % SLICE_SEGMENTS == 0:
            yield None
    return chosen


def _newest_in(log: PartitionLog, segment: Segment, before: int) -> Steps[int]:
    following = log.segment_of(segment.base) + 1
    end = min(_base_of(log, following), log.end_offset)
    if before >= end:
        largest = yield from reindexed(log, partial(sure_newest, segment))
        if not (yield from reindexed(log, partial(_is_newest_deleted, log, segment))):
            return largest
    if segment.base < log.start_offset:
        at, largest = yield from _newest_left(log, segment)
    else:
        at, largest = yield from reindexed(log, partial(_indexed_newest, log, segment, before))
    while at < min(before, end):
        look = partial(_headers_from, log, segment, at, lambda each: each.next_offset >= before)
        some = yield from reindexed(log, look)
        below = (each for _, each in some.headers if each.last_offset < before)
        largest = max([largest, *(each.newest_timestamp for each in below)])
        at = some.next_offset
        yield None
    return largest


def _is_newest_deleted(log: PartitionLog, segment: Segment, cold_ok: bool) -> bool:
    """Whether the log begins after the newest batch of a segment, or in the middle of that."""
    start = log.start_offset
    if start <= segment.base:
        return False
    place = reading.find(log, segment, start, cold_ok)
    if place is None or segment.max_timestamp_offset < start:
        return True
    return place.base_offset < start and segment.max_timestamp_offset <= place.last_offset


def _newest_left(log: PartitionLog, segment: Segment) -> Steps[tuple[int, int]]:
    """Of the batch that the log begins in the middle of, if it does: where to go on after it, and
    the largest timestamp of what is left."""
    start = log.start_offset
    candidate = yield from reindexed(log, partial(_batch_around, log, segment, start))
    if candidate is None:
        return start, NO_TIMESTAMP
    found: list[int] = []
    limit = _expanded_bytes_max(log.config, candidate)
    yield partial(_open_newest, candidate, start, limit, found)
    return candidate.header.next_offset, found[0]


def _batch_around(
    log: PartitionLog, segment: Segment, offset: int, cold_ok: bool
) -> Candidate | None:
    """The batch that has records on both sides of an offset."""
    some = _headers_from(log, segment, offset, _any, cold_ok)
    if not some.headers or some.headers[0][1].base_offset >= offset:
        return None
    position, header = some.headers[0]
    return Candidate(header, segment.reader(cold_ok)(position, header.size))


def _indexed_newest(
    log: PartitionLog, segment: Segment, before: int, cold_ok: bool
) -> tuple[int, int]:
    """How far the indexes lead below an offset, and what they say is the newest up to there."""
    offsets = log.indexes.load(segment, cold_ok)
    assert segment.times is not None
    entry = offsets.entry_before(before - segment.base - 1)
    if entry < 0:
        return segment.base, NO_TIMESTAMP
    place = segment.place_of(entry, cold_ok)
    told = segment.times.entry_below(place.last_offset + 1 - segment.base)
    if told < 0:
        return place.last_offset + 1, NO_TIMESTAMP
    at = segment.base + segment.times.offsets[told]
    _check_entry(segment, told, _headers_from(log, segment, at, _any, cold_ok))
    return place.last_offset + 1, segment.times.timestamps[told]


# One step of a search; gives where to go on


def _look(
    log: PartitionLog, timestamp: int, at: int, cold_ok: bool
) -> tuple[int, Candidate | None]:
    at = max(at, log.start_offset)
    if log.is_deleted or not log.segments or at >= log.end_offset:
        return NOWHERE, None
    first = log.segment_of(at)
    for segment in log.segments[first : first + SLICE_SEGMENTS]:
        at = max(at, segment.base)
        if segment.size and sure_newest(segment, cold_ok) >= timestamp:
            return _look_in(log, segment, timestamp, at, cold_ok)
    return _base_of(log, first + SLICE_SEGMENTS), None


def _look_in(
    log: PartitionLog, segment: Segment, timestamp: int, at: int, cold_ok: bool
) -> tuple[int, Candidate | None]:
    log.indexes.load(segment, cold_ok)
    assert segment.times is not None
    entry = segment.times.entry_before(timestamp)
    indexed_at = segment.base + (segment.times.offsets[entry] if entry >= 0 else 0)
    is_indexed, at = indexed_at > at, max(indexed_at, at)
    some = _headers_from(log, segment, at, lambda each: each.max_timestamp >= timestamp, cold_ok)
    if is_indexed:
        _check_entry(segment, entry, some)
    if not some.is_found:
        return some.next_offset, None
    position, header = some.headers[-1]
    if len(some.headers) > 1:
        at = some.headers[-2][1].last_offset + 1
    return at, Candidate(header, segment.reader(cold_ok)(position, header.size))


def _check_entry(segment: Segment, entry: int, some: Some) -> None:
    """An entry of the time index is worth what the batch says that it is of."""
    assert segment.times is not None
    timestamp, offset = segment.times.timestamps[entry], segment.base + segment.times.offsets[entry]
    header = some.headers[0][1] if some.headers else None
    if header is None or header.base_offset > offset or header.newest_timestamp != timestamp:
        raise Amiss(segment)


def _any(_: BatchHeader) -> bool:
    return True


def _headers_from(
    log: PartitionLog,
    segment: Segment,
    at: int,
    is_wanted: Callable[[BatchHeader], bool],
    cold_ok: bool,
) -> Some:
    """From the batch that holds an offset to the first that is wanted, or as many as a step may."""
    log.write_out()
    position = _position_of(log, segment, at, cold_ok)
    headers = scanning.headers(
        segment.reader(cold_ok), position, segment.size, LOOKUP_CHUNK_BYTES, segment.gaps
    )
    found: list[tuple[int, BatchHeader]] = []
    try:
        for start, header in islice(headers, SLICE_HEADERS):
            check = reading.check_follows if found else reading.check_offsets
            check(log, segment, header, at)
            found.append((start, header))
            at, position = header.last_offset + 1, start + header.size
            if is_wanted(header):
                return Some(found, at, True)
    except Cold as cold:
        if not found:
            ahead = min(max(cold.length, WARM_BYTES), segment.size - cold.position)
            raise Cold(cold.file, cold.position, ahead) from None
    except NotABatch as problem:
        return Some(found, _after_damage(log, segment, problem))
    if position >= segment.size:
        return Some(found, _base_of(log, log.segment_of(segment.base) + 1))
    reading.mark(log, at, segment, position)
    return Some(found, at)


def _position_of(log: PartitionLog, segment: Segment, offset: int, cold_ok: bool) -> int:
    """Where to go on: the last step has left a mark there, if nothing has changed since."""
    known = log.marks.pop(offset, None)
    if known is not None and known[0] is segment:
        return known[1]
    place = reading.find(log, segment, offset, cold_ok)
    return segment.size if place is None else place.position


def _after_damage(log: PartitionLog, segment: Segment, problem: NotABatch) -> int:
    for stretch in log.damage:
        if stretch.segment_base == segment.base and stretch.position == problem.position:
            return stretch.end_offset
    raise Amiss(segment)


def _base_of(log: PartitionLog, number: int) -> int:
    return log.segments[number].base if number < len(log.segments) else NOWHERE


# Off the loop: the batch itself


def _expanded_bytes_max(config: TopicConfig, candidate: Candidate) -> int:
    largest = max(EXPANSION_MAX * config.max_message_bytes, EXPANDED_BYTES_MIN)
    return max(min(largest, EXPANDED_BYTES_MAX), len(candidate.data))


def _open(
    candidate: Candidate, timestamp: int, from_offset: int, limit: int, found: list[TimedOffset]
) -> None:
    """Puts what it finds into `found`. What cannot be opened counts as a whole: who reads from
    there on misses nothing."""
    header = candidate.header
    try:
        record = _first_record(candidate, timestamp, from_offset, limit)
    except (Malformed, Refused):
        record = header.max_timestamp, max(header.base_offset, from_offset)
    if record is not None:
        found.append(TimedOffset(*record, header.leader_epoch))


def _open_newest(candidate: Candidate, from_offset: int, limit: int, found: list[int]) -> None:
    """The same for the largest timestamp from an offset on."""
    try:
        times = (at_ms for at_ms, offset in _records(candidate, limit) if offset >= from_offset)
        found.append(max(times, default=NO_TIMESTAMP))
    except (Malformed, Refused):
        found.append(candidate.header.max_timestamp)


def _first_record(
    candidate: Candidate, timestamp: int, from_offset: int, limit: int
) -> tuple[int, int] | None:
    """Its timestamp and offset."""
    for at_ms, offset in _records(candidate, limit):
        if at_ms >= timestamp and offset >= from_offset:
            return at_ms, offset
    return None


def _records(candidate: Candidate, limit: int) -> Iterator[tuple[int, int]]:
    """Timestamps and offsets. Not compiled, so that the loop gets its turns meanwhile; and no
    record is copied, since small ones would take many times the memory."""
    header, data = candidate
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    if is_far(base_timestamp):
        raise Malformed(f"a base timestamp of {base_timestamp}")
    cursor = Cursor(records_of(data, limit), header.record_count)
    while cursor.advance():
        offset = base_offset + cursor.offset_delta
        at_ms = later(base_timestamp, cursor.timestamp_delta)
        yield header.max_timestamp if header.has_log_append_time else at_ms, offset
