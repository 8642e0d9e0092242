"""From what a share fetch brought to the records that are the member's own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import NamedTuple

from penstock.client.reader import UNCOMPRESSED_BYTES_MAX, batches
from penstock.errors import Malformed, Refused
from penstock.sharing.acknowledging import Answer
from penstock.wire.batch_builder import read_records
from penstock.wire.messages.k78_share_fetch import AcquiredRecords, PartitionData
from penstock.wire.records import Record

log = logging.getLogger(__name__)


class Given(NamedTuple):
    """Of one partition."""

    records: list[tuple[Record, int]]
    """With how often each was delivered, this time included."""
    others: list[tuple[int, Answer]]
    """Offsets of which there is nothing to hand out, and what to say of them."""


def given(data: PartitionData) -> Given:
    """Batches come whole, so there may be records in them that are others'. Offsets without a
    record are gaps; what cannot be read is given back, so that somebody hears of it again."""
    counts = dict(_counts(data.acquired_records))
    found = Given([], [])
    if not counts:
        return found
    answer = Answer.GAP
    try:
        for record in _records(data):
            if (count := counts.pop(record.offset, None)) is not None:
                found.records.append((record, count))
    except (Malformed, Refused) as error:
        answer = Answer.RELEASE
        log.error("records from offset %d on cannot be read: %s", min(counts), error)
    found.others.extend((offset, answer) for offset in counts)
    return found


def _records(data: PartitionData) -> Iterator[Record]:
    whole = memoryview(b"") if data.records is None else memoryview(data.records)  # type: ignore[arg-type]
    for header, batch in batches(whole):
        if not header.is_control:
            yield from read_records(batch, UNCOMPRESSED_BYTES_MAX)


def _counts(acquired: list[AcquiredRecords]) -> Iterator[tuple[int, int]]:
    for each in acquired:
        for offset in range(each.first_offset, each.last_offset + 1):
            yield offset, each.delivery_count
