"""Whole batches made, opened and made anew: where header, compression and records meet.

Used where somebody must look inside: our own client, internal topics, compaction, full validation.
The produce and fetch paths do without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import NamedTuple

from penstock.errors import ErrorCode, Malformed, Refused
from penstock.wire.batch import (
    COMPRESSION_MASK,
    CONTROL,
    DELETE_HORIZON,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    MAGIC,
    NO_PRODUCER,
    NO_SEQUENCE,
    TRANSACTIONAL,
    BatchHeader,
    read_header,
    seal,
)
from penstock.wire.compression import Codec, compress, decompress
from penstock.wire.records import Cursor, Record, Span, encode, gather, is_far, spans, verify, walk
from penstock.world.ports import Buffer

_MARKER_KEY = Struct(">hh")
_MARKER_VALUE = Struct(">hi")
_MARKER_VERSION = 0
_ABORT = 0
_COMMIT = 1
_MARKER_BYTES_MAX = 1024

TIME_MS_MAX = 2**63 - 1
"""What a timestamp has room for."""
RECORDS_A_SLICE = 4096
"""Gone through at a time, in about a millisecond, so that a thread does not hold up the loop."""


class Marker(NamedTuple):
    """The end of a transaction, as its control batch tells it."""

    producer_id: int
    producer_epoch: int
    is_commit: bool
    coordinator_epoch: int


def build_batch(
    records: Sequence[Record],
    *,
    codec: int = Codec.NONE,
    level: int | None = None,
    producer_id: int = NO_PRODUCER,
    producer_epoch: int = -1,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    leader_epoch: int = -1,
    append_time_ms: int | None = None,
) -> bytearray:
    """A batch of at least one record. Its base offset is the first one's: a producer sends 0.

    With an append time that one counts for all records, and their own are only kept as deltas.
    """
    attributes = codec
    attributes |= TRANSACTIONAL if transactional else 0
    attributes |= CONTROL if control else 0
    attributes |= LOG_APPEND_TIME if append_time_ms is not None else 0
    base_offset, base_timestamp = records[0].offset, records[0].timestamp
    largest = max(each.timestamp for each in records)
    header = BatchHeader(
        base_offset=base_offset,
        length=0,
        leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=records[-1].offset - base_offset,
        base_timestamp=base_timestamp,
        max_timestamp=largest if append_time_ms is None else append_time_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=len(records),
    )
    data = encode(records, base_offset, base_timestamp)
    return seal(header, compress(codec, data, level))


def records_of(batch: Buffer, limit: int) -> bytes:
    """The records section of one whole batch, uncompressed; Refused where it exceeds the limit."""
    section = memoryview(batch)[HEADER_SIZE:]
    if not section:
        return b""  # compaction leaves empty batches, whatever codec their records once had
    return decompress(read_header(batch).codec, section, limit)


def read_records(batch: Buffer, limit: int) -> list[Record]:
    """Every record of one whole batch, with the offset and the timestamp that a consumer sees."""
    header = read_header(batch)
    base_timestamp, beyond = near_base(header.base_timestamp)
    found = walk(records_of(batch, limit), header.record_count, header.base_offset, base_timestamp)
    if header.has_log_append_time:
        for each in found:
            each.timestamp = header.max_timestamp
    elif beyond:
        for each in found:
            each.timestamp = max(-TIME_MS_MAX, min(TIME_MS_MAX, each.timestamp + beyond))
    return found


def near_base(timestamp: int) -> tuple[int, int]:
    """A base timestamp that records can be walked with, and what is to be added to theirs then: a
    topic may take times so far away that a sum with them might leave 64 bits."""
    return (0, timestamp) if is_far(timestamp) else (timestamp, 0)


def check_records(batch: Buffer, limit: int, *, keyed: bool) -> int:
    """Look at every record that a producer sent, and refuse the batch for any that is wrong.

    Gives the largest timestamp of the records. Where it differs from the header's, the broker
    stamps it there, as Kafka's does: one widespread client leaves the field unset.
    """
    header = read_header(batch)
    count = header.record_count
    if count < 1 or count != header.last_offset_delta + 1:
        reason = f"{count} records, and {header.last_offset_delta} as the last one's number"
        raise Refused(ErrorCode.INVALID_RECORD, reason)
    if is_far(header.base_timestamp):
        raise Refused(ErrorCode.INVALID_TIMESTAMP, f"a timestamp of {header.base_timestamp}")
    try:
        largest = _largest_delta(records_of(batch, limit), count, keyed)
    except Malformed as error:
        raise Refused(ErrorCode.INVALID_RECORD, str(error)) from None
    return header.base_timestamp + largest


def _largest_delta(data: bytes, count: int, keyed: bool) -> int:
    """Checks all records on the way."""
    cursor = Cursor(data, count)
    largest = verify(cursor, keyed, RECORDS_A_SLICE)
    while not cursor.is_done:
        largest = max(largest, verify(cursor, keyed, RECORDS_A_SLICE))
    return largest


def sliced_spans(data: bytes, count: int) -> Iterator[list[Span]]:
    """The places of all records of an uncompressed section, some at a time."""
    cursor = Cursor(data, count)
    while not cursor.is_done:
        yield spans(cursor, RECORDS_A_SLICE)


def _gathered(data: bytes, kept: Sequence[Span], timestamp_shift: int) -> bytes:
    starts = range(0, len(kept), RECORDS_A_SLICE)
    slices = (kept[start : start + RECORDS_A_SLICE] for start in starts)
    return b"".join([gather(data, each, timestamp_shift) for each in slices])


def rebuild(
    header: BatchHeader,
    data: bytes,
    kept: Sequence[Span],
    *,
    codec: int | None = None,
    level: int | None = None,
    delete_horizon_ms: int | None = None,
) -> bytearray:
    """What compaction leaves of a batch: these spans of its uncompressed records section.

    Offsets, producer and sequence stay, also where no record does, since they are what a broker
    knows a producer by. A delete horizon lies in the base timestamp (KIP-534), so records are told
    from there then; the first one set stays.
    """
    if is_far(header.base_timestamp):
        raise Malformed(f"a batch with a base timestamp of {header.base_timestamp}")
    attributes = header.attributes
    base_timestamp = header.base_timestamp
    if delete_horizon_ms is not None and header.delete_horizon_ms is None:
        attributes |= DELETE_HORIZON
        base_timestamp = delete_horizon_ms
    max_timestamp = header.max_timestamp
    if kept and not header.has_log_append_time:
        max_timestamp = header.base_timestamp + max(span.timestamp_delta for span in kept)
    chosen = header.codec if codec is None else codec
    if not kept:
        chosen = Codec.NONE
    section = _gathered(data, kept, header.base_timestamp - base_timestamp)
    changed = header._replace(
        attributes=(attributes & ~COMPRESSION_MASK) | chosen,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        record_count=len(kept),
    )
    return seal(changed, compress(chosen, section, level))


def recompress(batch: Buffer, codec: int, level: int | None, limit: int) -> bytearray:
    """The same batch with another codec, for a topic that asks for one."""
    header = read_header(batch)
    changed = header._replace(attributes=(header.attributes & ~COMPRESSION_MASK) | codec)
    return seal(changed, compress(codec, records_of(batch, limit), level))


def end_marker(
    producer_id: int,
    producer_epoch: int,
    *,
    commit: bool,
    coordinator_epoch: int,
    timestamp_ms: int,
) -> bytearray:
    """The control batch that ends a transaction in one partition."""
    key, value = _marker(_COMMIT if commit else _ABORT, coordinator_epoch)
    return build_batch(
        [Record(0, timestamp_ms, key, value)],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def commit_marker() -> tuple[bytes, bytes]:
    """Key and value of a control record that says nothing, as long as it is no producer's."""
    return _marker(_COMMIT, 0)


def _marker(kind: int, coordinator_epoch: int) -> tuple[bytes, bytes]:
    key = _MARKER_KEY.pack(_MARKER_VERSION, kind)
    return key, _MARKER_VALUE.pack(_MARKER_VERSION, coordinator_epoch)


def read_marker(batch: Buffer) -> Marker:
    """The transaction's end that a control batch tells of, or Malformed; versions may append."""
    header = read_header(batch)
    found = read_records(batch, _MARKER_BYTES_MAX)
    if not header.is_control or len(found) != 1:
        raise Malformed(f"no marker: {len(found)} records, attributes {header.attributes:#x}")
    key, value = found[0].key or b"", found[0].value or b""
    if len(key) < _MARKER_KEY.size or len(value) < _MARKER_VALUE.size:
        raise Malformed(f"a marker with a key of {len(key)} and a value of {len(value)} bytes")
    kind: int = _MARKER_KEY.unpack_from(key)[1]
    coordinator_epoch: int = _MARKER_VALUE.unpack_from(value)[1]
    if kind not in (_ABORT, _COMMIT):
        raise Malformed(f"a control record of type {kind} is no transaction's end")
    return Marker(header.producer_id, header.producer_epoch, kind == _COMMIT, coordinator_epoch)
