"""Finding offsets by time, exact to the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from penstock.log import scanning
from penstock.log.scanning import Read
from penstock.log.segment import Segment
from penstock.wire.batch import BatchHeader
from penstock.wire.batch_builder import read_records

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog

DECOMPRESSED_BYTES_MAX = 256 << 20


class TimedOffset(NamedTuple):
    timestamp: int
    offset: int
    leader_epoch: int


def first_since(
    log: PartitionLog, timestamp: int, before: int, cold_ok: bool
) -> TimedOffset | None:
    """The first record, below `before`, that is not older than a timestamp."""
    for segment in log.segments[log.segment_of(log.start_offset) :]:
        if segment.base >= before:
            return None
        if segment.largest_timestamp(cold_ok) < timestamp:
            continue
        found = _first_in(log, segment, timestamp, cold_ok)
        if found is not None:
            return found if found.offset < before else None
    return None


def _first_in(
    log: PartitionLog, segment: Segment, timestamp: int, cold_ok: bool
) -> TimedOffset | None:
    log.indexes.load(segment, cold_ok)
    assert segment.times is not None
    read = segment.reader(cold_ok)
    from_offset = max(segment.base + segment.times.offset_before(timestamp), log.start_offset)
    place = segment.find(from_offset, log.indexes, cold_ok)
    if place is None:
        return None
    for position, header in scanning.headers(
        read, place.position, segment.size, scanning.LOOKUP_CHUNK_BYTES
    ):
        if header.max_timestamp >= timestamp:
            found = _first_record(read, position, header, timestamp, log.start_offset)
            if found is not None:
                return found
    return None


def _first_record(
    read: Read, position: int, header: BatchHeader, timestamp: int, from_offset: int
) -> TimedOffset | None:
    for record in read_records(read(position, header.size), DECOMPRESSED_BYTES_MAX):
        if record.timestamp >= timestamp and record.offset >= from_offset:
            return TimedOffset(record.timestamp, record.offset, header.leader_epoch)
    return None


def newest(log: PartitionLog, cold_ok: bool) -> TimedOffset | None:
    """The first record that has the largest timestamp of all."""
    segments = [segment for segment in log.segments if segment.size]
    if not segments:
        return None
    segment = max(segments, key=lambda segment: segment.largest_timestamp(cold_ok))
    return _first_in(log, segment, segment.max_timestamp, cold_ok)
