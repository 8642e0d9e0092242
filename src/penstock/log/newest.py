"""How new a segment's newest record is, without taking an index's word for it.

Time indexes have no checksum, and records are deleted, or passed over, by what they say. So the
batches are asked: mostly the last few of a segment are enough, as they have the newest record.
"""

from __future__ import annotations

from penstock.log import scanning
from penstock.log.scanning import LOOKUP_CHUNK_BYTES, NotABatch
from penstock.log.segment import Segment, Unsure

HEADERS_MAX = 256
"""A glance, at some microseconds each: an index that is lost or cut leaves more than that."""


def sure_newest(segment: Segment, cold_ok: bool) -> int:
    """A segment's largest timestamp. Raises Unsure where more than a glance is needed."""
    if not segment.newest_is_sure and segment.size:
        segment.largest_timestamp(cold_ok)
        if not (segment.newest_is_sure or _is_told_by_the_last(segment, cold_ok)):
            raise Unsure(segment)
        segment.newest_is_sure = True
    return segment.max_timestamp


def _is_told_by_the_last(segment: Segment, cold_ok: bool) -> bool:
    """Whether the batches after the last entry of the offset index have the one that is said to be
    the newest, and none that is newer."""
    indexed = segment.last_indexed(cold_ok)
    start, last_offset = indexed or (0, None)
    read, is_there = segment.reader(cold_ok), False
    try:
        headers = scanning.headers(read, start, segment.size, LOOKUP_CHUNK_BYTES, segment.gaps)
        for count, (position, header) in enumerate(headers):
            if position == start and last_offset not in (None, header.last_offset):
                return False
            if header.newest_timestamp > segment.max_timestamp or count == HEADERS_MAX:
                return False
            if header.base_offset <= segment.max_timestamp_offset <= header.last_offset:
                is_there = header.newest_timestamp == segment.max_timestamp
    except NotABatch:
        return False
    return is_there
