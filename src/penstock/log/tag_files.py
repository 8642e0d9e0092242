"""The tag index of a finished segment, kept beside it (`BASE.tagindex`), so that it outlives us.

Like other indexes it is derived. One is written once all of a segment is in it, and believed only
where its checksum is right and it is of a segment of this length, with this last batch.

    checksum   CRC32C of what follows     names    number; length and bytes of each
    version    1                          tags     number; for each name of each: values, or not
    log size   of the segment             blocks   number; then first offsets, ends, sizes, least
    last size  of its last batch                   and greatest timestamps, 64 bits each, and the
    last CRC   of that one                         number of their tags, 32 bits each
"""

from __future__ import annotations

import struct
import sys
from array import array
from struct import Struct
from typing import TYPE_CHECKING

from crc32c import crc32c

from penstock.log import layout
from penstock.log.tag_index import Columns, TagIndex, Tags, Values
from penstock.wire.batch import HEADER_SIZE, read_header
from penstock.world.ports import Cold

if TYPE_CHECKING:
    from penstock.log.segment import Segment

VERSION = 1
_HEAD = Struct(">IHqiI")
_COUNT = Struct(">i")
_TOO_MANY, _NULL = -1, -1


class _Wrong(Exception):
    """Bytes that are no index."""


def save(segment: Segment) -> None:
    """OSError where the disk will not have it; then there is none."""
    index = segment.tags
    assert index is not None
    segment.write_index(layout.TAG_INDEX, encode(index, segment.size))
    segment.has_tags = True


def load(segment: Segment, cold_ok: bool) -> TagIndex | None:
    """Cold where it has to be read first; None where there is none that can be believed."""
    if segment.has_tags is None:
        segment.has_tags = segment.disk.exists(segment.path(layout.TAG_INDEX))
    if not segment.has_tags:
        return None
    try:
        index = decode(segment.read_index(layout.TAG_INDEX, cold_ok), segment.size, segment.cuts)
        _check_last(segment, index, cold_ok)
    except Cold:
        raise
    except (_Wrong, OSError):
        segment.has_tags = False  # the next that is whole takes its place
        return None
    return index


def _check_last(segment: Segment, index: TagIndex, cold_ok: bool) -> None:
    position = segment.size - index.last_size
    data = segment.reader(cold_ok)(position, HEADER_SIZE) if position >= 0 else b""
    if len(data) < HEADER_SIZE or read_header(data).crc != index.last_crc:
        raise _Wrong


def encode(index: TagIndex, log_size: int) -> bytes:
    columns = index.columns()
    numbers: dict[int, int] = {}
    """Of tags that are the same object, in the order that they are met."""
    kinds: list[Tags] = []
    used = array("i")
    for tags in columns.kinds:
        number = numbers.setdefault(id(tags), len(kinds))
        if number == len(kinds):
            kinds.append(tags)
        used.append(number)
    parts = [_HEAD.pack(0, VERSION, log_size, index.last_size, index.last_crc)]
    parts.append(_COUNT.pack(len(index.names)))
    parts += [_text(name) for name in index.names]
    parts.append(_COUNT.pack(len(kinds)))
    parts += [_values(each) for tags in kinds for each in tags]
    parts.append(_COUNT.pack(len(used)))
    parts += [_array_bytes(each) for each in (*columns[:-1], used)]
    data = bytearray(b"".join(parts))
    data[:4] = crc32c(memoryview(data)[4:]).to_bytes(4, "big")
    return bytes(data)


def _text(value: bytes | None) -> bytes:
    return _COUNT.pack(_NULL) if value is None else _COUNT.pack(len(value)) + value


def _values(found: Values) -> bytes:
    if found is None:
        return _COUNT.pack(_TOO_MANY)
    return _COUNT.pack(len(found)) + b"".join(map(_text, found))


def _array_bytes(column: array[int]) -> bytes:
    return _swapped(array(column.typecode, column)).tobytes()


def _swapped(column: array[int]) -> array[int]:
    """To or from the order of bytes that files have."""
    if sys.byteorder == "little":
        column.byteswap()
    return column


def decode(data: bytes, log_size: int, cuts: int) -> TagIndex:
    """Raises _Wrong where it is none, or of another log."""
    try:
        checksum, version, size, last_size, last_crc = _HEAD.unpack_from(data)
        if checksum != crc32c(memoryview(data)[4:]) or version != VERSION or size != log_size:
            raise _Wrong
        reading = _Reading(data, _HEAD.size)
        names = tuple(reading.text() or b"" for _ in range(reading.count()))
        kinds = [tuple(reading.values() for _ in names) for _ in range(reading.count())]
        blocks = reading.count()
        firsts, ends, sizes, least, greatest = (reading.column("q", blocks) for _ in range(5))
        used = [kinds[number] for number in reading.column("i", blocks)]
        index = TagIndex(names, cuts)
        index.restore(Columns(firsts, ends, sizes, least, greatest, used))
    except (struct.error, IndexError, ValueError) as error:
        raise _Wrong from error
    index.last_size, index.last_crc = last_size, last_crc
    return index


class _Reading:
    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at

    def count(self) -> int:
        (count,) = _COUNT.unpack_from(self._data, self._at)
        self._at += _COUNT.size
        return int(count)

    def text(self) -> bytes | None:
        size = self.count()
        if size == _NULL:
            return None
        start, self._at = self._at, self._at + size
        return self._data[start : self._at]

    def values(self) -> Values:
        number = self.count()
        return None if number == _TOO_MANY else frozenset(self.text() for _ in range(number))

    def column(self, typecode: str, count: int) -> array[int]:
        found: array[int] = array(typecode)
        size = count * found.itemsize
        start, self._at = self._at, self._at + size
        if self._at > len(self._data):
            raise IndexError
        found.frombytes(self._data[start : self._at])
        return _swapped(found)
