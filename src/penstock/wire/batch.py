"""The header of a v2 record batch: read it, check it, stamp it. The records stay bytes.

 0  base offset        int64     21  attributes         int16     51  producer epoch  int16
 8  batch length       int32     23  last offset delta  int32     53  base sequence   int32
12  leader epoch       int32     27  base timestamp     int64     57  record count    int32
16  magic              int8      35  max timestamp      int64     61  records
17  CRC32C of 21..end  uint32    43  producer id        int64
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple, NewType

from crc32c import crc32c

from penstock.errors import ErrorCode, Refused
from penstock.world.ports import Buffer

Offset = NewType("Offset", int)

_HEADER = Struct(">qiibIhiqqqhii")
_LENGTH = Struct(">qi")
_BASE_OFFSET = Struct(">q")
_INT32 = Struct(">i")
_CRC = Struct(">I")
_ATTRIBUTES = Struct(">h")
_INT64 = Struct(">q")

HEADER_SIZE = _HEADER.size
LENGTH_OVERHEAD = 12
"""Base offset and length itself, which the length does not count."""
CRC_START = 21
MAGIC = 2

COMPRESSION_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40
HOLDS = 0x80
"""Ours, set by the leader: some of its records are held back, or cancel one that is."""
BY_LEADER = 0x100
"""Ours: the leader has written it, of records that were held. All of them are shown; or, together
with HOLDS, all are still held."""

NO_PRODUCER = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1


class BatchHeader(NamedTuple):
    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """The whole batch in bytes, header included."""
        return self.length + LENGTH_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def newest_timestamp(self) -> int:
        """Of its records: a batch that compaction has emptied has none, whatever it once had."""
        return self.max_timestamp if self.record_count else NO_TIMESTAMP

    @property
    def codec(self) -> int:
        return self.attributes & COMPRESSION_MASK

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def has_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def holds(self) -> bool:
        """Whether there are records in it that readers do not see."""
        return bool(self.attributes & HOLDS)

    @property
    def is_by_leader(self) -> bool:
        return bool(self.attributes & BY_LEADER)

    @property
    def delete_horizon_ms(self) -> int | None:
        """From when compaction may drop the batch's tombstones and markers (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None

    @property
    def last_sequence(self) -> int:
        """Sequences wrap from 2^31 - 1 to 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF


def read_header(data: Buffer, position: int = 0) -> BatchHeader:
    """The caller has made sure that HEADER_SIZE bytes are there."""
    return BatchHeader._make(_HEADER.unpack_from(data, position))


def size_at(data: Buffer, position: int = 0) -> int:
    """What the length field at a position says of the whole batch's size."""
    length: int = _LENGTH.unpack_from(data, position)[1]
    return length + LENGTH_OVERHEAD


def batches_in(data: memoryview) -> Iterator[memoryview]:
    """Of bytes that are whole batches."""
    position = 0
    while position < len(data):
        size = size_at(data, position)
        yield data[position : position + size]
        position += size


def crc_of(batch: Buffer) -> int:
    """Of one whole batch, as it should be."""
    return crc32c(memoryview(batch)[CRC_START:])


def check(batch: Buffer) -> BatchHeader:
    """The header of the one batch that these bytes are, or Refused: what every batch must satisfy.

    Nothing here looks at single records: the cost is that of the CRC. Bytes that changed on their
    way are corrupt, and worth another try; what was never one batch is invalid, and is not.
    """
    size = len(batch)
    if size < HEADER_SIZE:
        raise Refused(ErrorCode.INVALID_RECORD, f"{size} bytes are no batch: no whole header")
    header = read_header(batch)
    if header.magic != MAGIC:
        raise Refused(
            ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            f"message format v{header.magic} is not taken; producers must send v{MAGIC}",
        )
    if header.size != size:
        is_whole = HEADER_SIZE <= header.size < size
        if is_whole and crc_of(memoryview(batch)[: header.size]) == header.crc:
            extra = size - header.size
            raise Refused(ErrorCode.INVALID_RECORD, f"{extra} bytes after the one batch")
        raise Refused(
            ErrorCode.CORRUPT_MESSAGE, f"the batch says {header.size} bytes and has {size}"
        )
    if crc_of(batch) != header.crc:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, "the batch's CRC does not match its bytes")
    return header


def seal(header: BatchHeader, records: Buffer) -> bytearray:
    """The whole batch of a header and its records, as they lie in it; sets length and CRC."""
    length = HEADER_SIZE - LENGTH_OVERHEAD + len(records)
    batch = bytearray(_HEADER.pack(*header._replace(length=length, magic=MAGIC, crc=0)))
    batch += records
    _CRC.pack_into(batch, 17, crc_of(batch))
    return batch


def stamp(batch: bytearray | memoryview, base: Offset, leader_epoch: int) -> None:
    """Assign the offset in place; the CRC starts at byte 21, so it stays true."""
    _BASE_OFFSET.pack_into(batch, 0, base)
    _INT32.pack_into(batch, 12, leader_epoch)


def stamp_holds(batch: bytearray | memoryview) -> None:
    """Say that there are held records in it; this changes the CRC."""
    attributes = _ATTRIBUTES.unpack_from(batch, 21)[0] | HOLDS
    _ATTRIBUTES.pack_into(batch, 21, attributes)
    _CRC.pack_into(batch, 17, crc_of(batch))


def stamp_append_time(batch: bytearray | memoryview, now_ms: int) -> None:
    """Make the broker's time the time of every record; this changes the CRC."""
    attributes = _ATTRIBUTES.unpack_from(batch, 21)[0] | LOG_APPEND_TIME
    _ATTRIBUTES.pack_into(batch, 21, attributes)
    stamp_max_timestamp(batch, now_ms)


def stamp_max_timestamp(batch: bytearray | memoryview, max_timestamp: int) -> None:
    """Say what the records say: some clients leave the field at -1; this changes the CRC."""
    _INT64.pack_into(batch, 35, max_timestamp)
    _CRC.pack_into(batch, 17, crc_of(batch))
