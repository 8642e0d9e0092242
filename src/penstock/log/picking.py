"""Single records by their offsets, in steps: batches are opened off the loop, one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from penstock.errors import Malformed, Refused
from penstock.log.reindexing import reindexed
from penstock.log.segment import Amiss
from penstock.log.steps import Apart, Steps
from penstock.wire.batch import read_header
from penstock.wire.batch_builder import read_records
from penstock.wire.records import Record

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog

EXPANDED_BYTES_MAX = 64 << 20
"""Of a batch: one that is larger is not opened."""


class Picked(NamedTuple):
    records: dict[int, Record]
    """By offset. Some may be there no more, or cannot be read."""
    done: int
    """How many of the offsets were looked for, as not more go together."""


def pick(log: PartitionLog, offsets: Sequence[int], most_bytes: int) -> Steps[Picked]:
    """The first of these records, which are in order: as many as have so many bytes, and one at
    least. Raises OSError."""
    found: dict[int, Record] = {}
    count = size = 0
    while count < len(offsets):
        records = yield from _opened(log, offsets[count])
        end = max(records, default=offsets[count])
        while count < len(offsets) and offsets[count] <= end:
            record = records.get(offsets[count])
            size += _size(record) if record is not None else 0
            if count and size > most_bytes:
                return Picked(found, count)
            if record is not None:
                found[record.offset] = record
            count += 1
    return Picked(found, count)


def _opened(log: PartitionLog, offset: int) -> Steps[dict[int, Record]]:
    """Of the batch that has this offset, all records."""
    opened: dict[int, Record] = {}
    try:
        batch = yield from reindexed(log, partial(_batch_at, log, offset))
        if batch:
            yield Apart(partial(_open, batch, opened))
    except (Amiss, Refused, Malformed):
        return {}  # deleted, damaged, or too large to be opened
    return opened


def _batch_at(log: PartitionLog, offset: int, cold_ok: bool) -> bytes:
    found = log.read(offset, 1, log.end_offset, at_least_one=True, cold_ok=cold_ok)
    if found is None:
        return b""
    part = found.range
    read = part.file.read if cold_ok else part.file.read_cached
    data = read(part.position, part.length)
    return bytes(data[: read_header(data).size])


def _open(batch: bytes, opened: dict[int, Record]) -> None:
    opened.update((each.offset, each) for each in read_records(batch, EXPANDED_BYTES_MAX))


def _size(record: Record) -> int:
    headers = sum(len(name) + len(value or b"") for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers
