"""The summary of one batch, for who must know later whether it is worth opening."""

from __future__ import annotations

from penstock.predicate.instants import FIRST, LAST
from penstock.predicate.pruning import MANY, HeaderValues, Summary
from penstock.wire.batch import BatchHeader
from penstock.wire.batch_builder import RECORDS_A_SLICE
from penstock.wire.choosing import Digest, Names
from penstock.wire.records import Cursor

VALUES_MOST = 64
VALUE_BYTES_MOST = 64
"""A header with more values, or a longer one, tells single records apart, and batches hardly."""


def summary_of(
    header: BatchHeader,
    data: bytes,
    names: tuple[bytes, ...],
    values_most: int = VALUES_MOST,
    value_bytes_most: int = VALUE_BYTES_MOST,
) -> Summary:
    """Of a batch with this header and these uncompressed records; Malformed where one is wrong."""
    digest = Digest(Cursor(data, header.record_count), Names(names), values_most, value_bytes_most)
    while not digest.go_on(RECORDS_A_SLICE):
        pass
    values: dict[bytes, HeaderValues] = {
        name: MANY if found is None else frozenset(found)
        for name, found in zip(names, digest.distinct, strict=True)
    }
    least, greatest = _times(header, digest)
    return Summary(least, greatest, values)


def _times(header: BatchHeader, digest: Digest) -> tuple[int, int]:
    if header.has_log_append_time:
        return header.max_timestamp, header.max_timestamp
    base = header.base_timestamp
    return max(FIRST, base + digest.least_delta), min(LAST, base + digest.greatest_delta)
