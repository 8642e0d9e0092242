"""The records inside a batch: walked, checked, copied and written.

Compiled with mypyc where there is a C compiler, so that looking inside a batch stays cheap; without
one the same source runs as it is (docs/decisions/0003-one-compiled-module.md). `i64` is only an
annotation here, so nothing but the standard library is needed at run time. Integers wrap at 64 bits
in the compiled form and not in the other: every sum below is bounded first, so both agree.

Compiled code keeps the interpreter's lock, also on a thread of its own. So what may go through many
records takes a cursor and goes `most` of them ahead: between two such calls others get their turn.

    length           varint     key      varint length or -1, bytes
    attributes       int8       value    varint length or -1, bytes
    timestamp delta  varlong    headers  varint count, then for each
    offset delta     varint              a key, never null, and a value as above
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from penstock.errors import Malformed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mypy_extensions import i64

COMPILED = not __file__.endswith(".py")

VARINT_BYTES: Final = 5
VARLONG_BYTES: Final = 10
FARTHEST: Final = 0x3FFF_FFFF_FFFF_FFFF
"""Bases and deltas stay within this, so that their sum never leaves 64 bits. Only deltas of times
may be larger, which a broker does not look at unless it has to: see `later`."""
LAST_MS: Final = 0x7FFF_FFFF_FFFF_FFFF
OFFSET_DELTA_MAX: Final = 0x7FFF_FFFF
ALL: Final = OFFSET_DELTA_MAX
"""No batch has more records."""

Headers = tuple[tuple[bytes, bytes | None], ...]


@final
class Record:
    """One record with its values copied out. Header keys stay bytes: nothing proves them UTF-8."""

    __slots__ = ("headers", "key", "offset", "timestamp", "value")

    def __init__(
        self,
        offset: i64,
        timestamp: i64,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
    ) -> None:
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Record)
            and self.offset == other.offset
            and self.timestamp == other.timestamp
            and self.key == other.key
            and self.value == other.value
            and self.headers == other.headers
        )

    def __hash__(self) -> int:
        return hash((self.offset, self.timestamp, self.key, self.value, self.headers))

    def __repr__(self) -> str:
        fields = f"{self.offset}, {self.timestamp}, {self.key!r}, {self.value!r}, {self.headers!r}"
        return f"Record({fields})"


@final
class Cursor:
    """Goes from record to record and checks each whole; what it found are places in `data`.

    A size of -1 is a null. Places only ever grow and reading past the data raises IndexError, so
    one look at where a record came to its end tells whether any part of it reached too far.
    """

    __slots__ = (
        "data",
        "end",
        "header_count",
        "headers_at",
        "is_done",
        "key_at",
        "key_size",
        "left",
        "offset_delta",
        "start",
        "stop",
        "timestamp_delta",
        "value_at",
        "value_size",
    )

    def __init__(self, data: bytes, count: i64, start: i64 = 0, stop: i64 = -1) -> None:
        """Of all the data, or of what lies from `start` to before `stop`."""
        if count < 0:
            raise Malformed(f"a batch of {count} records")
        self.data = data
        self.stop: i64 = len(data) if stop < 0 else stop
        self.left: i64 = count
        self.is_done = False
        self.start: i64 = start
        self.end: i64 = start
        self.offset_delta: i64 = -1
        self.timestamp_delta: i64 = 0
        self.key_at: i64 = 0
        self.key_size: i64 = -1
        self.value_at: i64 = 0
        self.value_size: i64 = -1
        self.headers_at: i64 = 0
        self.header_count: i64 = 0

    def advance(self) -> bool:
        """To the next record; False after the last one, which must end where the data ends."""
        self.start = self.end
        if self.left == 0:
            if self.end != self.stop:
                raise Malformed(f"{self.stop - self.end} bytes after the last record")
            self.is_done = True
            return False
        self.left -= 1
        try:
            at = self.read_fields()
        except IndexError:
            raise Malformed(f"the data ends within the record at {self.start}") from None
        if at != self.end or at > self.stop:
            raise Malformed(
                f"the record at {self.start} ends at {at} and said {self.end}, of {self.stop}"
            )
        return True

    def read_fields(self) -> i64:
        data = self.data
        size, at = varint(data, self.start)
        self.end = at + size
        self.timestamp_delta, at = varint(data, at + 1, VARLONG_BYTES)  # past the attributes
        offset_delta, at = varint(data, at)
        if not self.offset_delta < offset_delta <= OFFSET_DELTA_MAX:
            raise Malformed(f"offset delta {offset_delta} comes after {self.offset_delta}")
        self.offset_delta = offset_delta
        size, at = varint(data, at)
        self.key_size = size
        self.key_at = at
        if size > 0:
            at += size
        elif size < -1:
            raise Malformed(f"a key of {size} bytes in the record at {self.start}")
        size, at = varint(data, at)
        self.value_size = size
        self.value_at = at
        if size > 0:
            at += size
        elif size < -1:
            raise Malformed(f"a value of {size} bytes in the record at {self.start}")
        size, at = varint(data, at)
        self.header_count = size
        self.headers_at = at
        if size == 0:
            return at
        return self.pass_headers(at)

    def pass_headers(self, at: i64) -> i64:
        if self.header_count < 0:
            raise Malformed(f"{self.header_count} headers in the record at {self.start}")
        left = self.header_count
        while left > 0:
            size, at = varint(self.data, at)
            if size < 0:
                raise Malformed(f"a header without a key in the record at {self.start}")
            size, at = varint(self.data, at + size)
            if size > 0:
                at += size
            elif size < -1:
                raise Malformed(f"a header of {size} bytes in the record at {self.start}")
            left -= 1
        return at

    def key(self) -> bytes | None:
        if self.key_size < 0:
            return None
        return self.data[self.key_at : self.key_at + self.key_size]

    def value(self) -> bytes | None:
        if self.value_size < 0:
            return None
        return self.data[self.value_at : self.value_at + self.value_size]

    def headers(self) -> Headers:
        """Reads them a second time: most records have none, and `advance` has checked them."""
        if self.header_count == 0:
            return ()
        data = self.data
        at = self.headers_at
        left = self.header_count
        found: list[tuple[bytes, bytes | None]] = []
        while left > 0:
            size, at = varint(data, at)
            name = data[at : at + size]
            size, at = varint(data, at + size)
            if size < 0:
                found.append((name, None))
            else:
                found.append((name, data[at : at + size]))
                at += size
            left -= 1
        return tuple(found)


@final
class Span:
    """Where one record lies, from its length varint to its end, and what compaction asks of it."""

    __slots__ = ("end", "has_value", "key", "offset_delta", "start", "timestamp_delta")

    def __init__(self, cursor: Cursor) -> None:
        self.offset_delta: i64 = cursor.offset_delta
        self.timestamp_delta: i64 = cursor.timestamp_delta
        self.key = cursor.key()
        self.has_value = cursor.value_size >= 0
        self.start: i64 = cursor.start
        self.end: i64 = cursor.end


def is_far(number: i64) -> bool:
    """Whether a sum with it might leave 64 bits."""
    return not -FARTHEST <= number <= FARTHEST


def later(base: i64, delta: i64) -> i64:
    """A time that is so much later; the last one, or the first, where there is no room for it."""
    if delta > 0 and base > LAST_MS - delta:
        return LAST_MS
    if delta <= 0 and base < -LAST_MS - delta:
        return -LAST_MS
    return base + delta


def check_near(cursor: Cursor) -> None:
    """Where records are taken or made anew, and times have to be added up."""
    if is_far(cursor.timestamp_delta):
        raise Malformed(
            f"a timestamp {cursor.timestamp_delta} ms away in the record at {cursor.start}"
        )


def varint(data: bytes, at: i64, bytes_max: i64 = VARINT_BYTES) -> tuple[i64, i64]:
    """A zigzag varint and where it ends; IndexError where the data ends before it.

    Most have one byte or two, which is worth two branches of their own where nothing is compiled.
    """
    raw: i64 = data[at]
    if raw < 0x80:
        return (raw >> 1) ^ -(raw & 1), at + 1
    byte: i64 = data[at + 1]
    raw ^= (byte << 7) ^ 0x80
    if byte < 0x80:
        return (raw >> 1) ^ -(raw & 1), at + 2
    return long_varint(data, at, bytes_max)


def long_varint(data: bytes, at: i64, bytes_max: i64) -> tuple[i64, i64]:
    raw: i64 = 0
    shift: i64 = 0
    bits: i64 = bytes_max * 7
    while shift < bits:
        byte: i64 = data[at]
        at += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            number: i64 = ((raw >> 1) & 0x7FFF_FFFF_FFFF_FFFF) ^ -(raw & 1)
            if shift == 63 and byte > 1:
                break
            return number, at
        shift += 7
    raise Malformed(f"a varint before {at} that is too long or too large")


def walk(data: bytes, count: i64, base_offset: i64 = 0, base_timestamp: i64 = 0) -> list[Record]:
    """Every record of a batch's uncompressed records section, or Malformed."""
    if is_far(base_offset) or is_far(base_timestamp):
        raise Malformed(f"base offset {base_offset} or timestamp {base_timestamp} out of range")
    found: list[Record] = []
    cursor = Cursor(data, count)
    while cursor.advance():
        found.append(
            Record(
                base_offset + cursor.offset_delta,
                later(base_timestamp, cursor.timestamp_delta),
                cursor.key(),
                cursor.value(),
                cursor.headers(),
            )
        )
    return found


def pairs(data: bytes, count: i64) -> list[tuple[bytes | None, bytes | None]]:
    """Every record's key and value, for who needs no more."""
    found: list[tuple[bytes | None, bytes | None]] = []
    cursor = Cursor(data, count)
    while cursor.advance():
        found.append((cursor.key(), cursor.value()))
    return found


def spans(cursor: Cursor, most: i64 = ALL) -> list[Span]:
    """The next records as places, so that those which stay can be copied as they are."""
    found: list[Span] = []
    while most > 0 and cursor.advance():
        check_near(cursor)
        found.append(Span(cursor))
        most -= 1
    return found


def verify(cursor: Cursor, keyed: bool = False, most: i64 = ALL) -> int:
    """Checks the next records that a producer sent, copying nothing; their largest timestamp delta.

    A producer numbers its records 0, 1, 2, and so on; a compacted topic asks for keys.
    """
    expected: i64 = cursor.offset_delta + 1
    largest: i64 = -FARTHEST
    while most > 0 and cursor.advance():
        if cursor.offset_delta != expected:
            raise Malformed(f"record {expected} has the offset delta {cursor.offset_delta}")
        check_near(cursor)
        if keyed and cursor.key_size < 0:
            raise Malformed(f"record {expected} has no key, and the topic is compacted")
        largest = max(largest, cursor.timestamp_delta)
        expected += 1
        most -= 1
    return largest


def encode(records: Iterable[Record], base_offset: i64, base_timestamp: i64) -> bytes:
    """The records section that `walk` reads back with the same bases."""
    out = bytearray()
    for record in records:
        if is_far(record.timestamp) or is_far(base_timestamp):
            raise ValueError(f"a timestamp of {record.timestamp}, or a base of {base_timestamp}")
        body = bytearray(1)
        put_varint(body, record.timestamp - base_timestamp)
        put_varint(body, record.offset - base_offset)
        put_field(body, record.key)
        put_field(body, record.value)
        put_varint(body, len(record.headers))
        for name, value in record.headers:
            put_field(body, name)
            put_field(body, value)
        put_varint(out, len(body))
        out += body
    return bytes(out)


def gather(data: bytes, kept: Iterable[Span], timestamp_shift: i64 = 0) -> bytes:
    """The bytes of these records; with a shift, told from a base timestamp that much earlier."""
    if timestamp_shift == 0:
        return b"".join([data[span.start : span.end] for span in kept])
    if is_far(timestamp_shift):
        raise Malformed(f"a shift of timestamps by {timestamp_shift}")
    out = bytearray()
    for span in kept:
        _, at = varint(data, span.start)
        body = bytearray(data[at : at + 1])
        _, at = varint(data, at + 1, VARLONG_BYTES)
        put_varint(body, span.timestamp_delta + timestamp_shift)
        body += data[at : span.end]
        put_varint(out, len(body))
        out += body
    return bytes(out)


def put_varint(out: bytearray, number: i64) -> None:
    if 0 <= number < 64:
        out.append(number << 1)
        return
    if is_far(number):
        raise Malformed(f"{number} is more than a reader would take")
    raw: i64 = (number << 1) ^ (number >> 63)
    while raw >= 0x80:
        out.append((raw & 0x7F) | 0x80)
        raw >>= 7
    out.append(raw)


def put_field(out: bytearray, field: bytes | None) -> None:
    if field is None:
        put_varint(out, -1)
    else:
        put_varint(out, len(field))
        out += field
