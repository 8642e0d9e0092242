"""Values to bytes and back: the functions that the generated messages call.

Reading functions take a buffer and a position, and give a value and the position after it. They
check each length against the bytes at hand before they use it, and leave the bounds of fixed-size
values to Python: `Message.decode` turns whatever is raised on the way into Malformed.

These run several times for every request, which is why the likely case comes first in each of
them, and why the few lines that read a length are repeated rather than called.
"""

from __future__ import annotations

from struct import Struct, unpack_from
from typing import Any, Final, NoReturn, TypeVar

from penstock.errors import Malformed
from penstock.world.ports import Buffer, FileRange, Part

T = TypeVar("T")

NULL_UUID: Final = bytes(16)
SMALL_BYTES: Final = 4096

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_NO_CUTS: Final[list[tuple[int, Part]]] = []


class Sink(bytearray):
    """Where a message is encoded to. Big records are not copied into it but noted beside it."""

    # Most sinks never have a cut: what they share is never changed, so that making one is cheap.
    cuts: list[tuple[int, Part]] = _NO_CUTS
    beside: int = 0

    def cut(self, part: Part, size: int) -> None:
        """Notes that a part comes here."""
        if self.cuts is _NO_CUTS:
            self.cuts = []
        self.cuts.append((len(self), part))
        self.beside += size

    def parts(self) -> list[Part]:
        """All that was written, in order. The sink must not be written to any more."""
        if not self.cuts:
            return [self]
        whole = memoryview(self)
        parts: list[Part] = []
        done = 0
        for position, part in self.cuts:
            if position > done:
                parts.append(whole[done:position])
            parts.append(part)
            done = position
        if done < len(self):
            parts.append(whole[done:])
        return parts


TAGS_MAX = 100
"""Tagged fields in one place. Kafka has no more than a handful anywhere; each of them takes our
time, whether we know it or not."""


def absent(version: int, names: str) -> ValueError:
    return ValueError(f"version {version} cannot say {names}")


def required(value: T | None, version: int, name: str) -> T:
    if value is None:
        raise ValueError(f"{name} cannot be null in version {version}")
    return value


def _refuse_null() -> NoReturn:
    raise Malformed("null in a field that cannot be null")


def _refuse_size(size: int) -> NoReturn:
    raise Malformed(f"a length of {size} is more than there is")


def read_uvarint(buf: memoryview, at: int) -> tuple[int, int]:
    """An unsigned number of up to 32 bits, seven of them to a byte, the lowest first."""
    value = buf[at]
    if value < 0x80:
        return value, at + 1
    value &= 0x7F
    for shift in (7, 14, 21, 28):
        at += 1
        byte = buf[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFFFFFF:
                break
            return value, at + 1
    raise Malformed("a variable-length number is too long")


def write_uvarint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_size(buf: memoryview, at: int) -> tuple[int, int]:
    """The length of bytes in four bytes, or -1 for null; and where they begin."""
    (size,) = _INT32.unpack_from(buf, at)
    at += 4
    if size > len(buf) - at or size < -1:
        _refuse_size(size)
    return size, at


def read_compact_size(buf: memoryview, at: int) -> tuple[int, int]:
    """The same as a variable-length number, which is one more than the length."""
    size = buf[at]
    if size < 0x80:
        at += 1
    else:
        size, at = read_uvarint(buf, at)
    if size > len(buf) - at + 1:
        _refuse_size(size - 1)
    return size - 1, at


def read_string(buf: memoryview, at: int) -> tuple[str, int]:
    (size,) = _INT16.unpack_from(buf, at)
    at += 2
    end = at + size
    if end > len(buf):
        _refuse_size(size)
    if size < 0:
        _refuse_null()
    return buf[at:end].tobytes().decode(), end


def read_nullable_string(buf: memoryview, at: int) -> tuple[str | None, int]:
    (size,) = _INT16.unpack_from(buf, at)
    at += 2
    end = at + size
    if end > len(buf) or size < -1:
        _refuse_size(size)
    if size < 0:
        return None, at
    return buf[at:end].tobytes().decode(), end


def read_compact_string(buf: memoryview, at: int) -> tuple[str, int]:
    size = buf[at]
    if size < 0x80:
        end = at + size
        at += 1
    else:
        size, at = read_uvarint(buf, at)
        end = at + size - 1
    if end > len(buf):
        _refuse_size(size)
    if size == 0:
        _refuse_null()
    return buf[at:end].tobytes().decode(), end


def read_compact_nullable_string(buf: memoryview, at: int) -> tuple[str | None, int]:
    if buf[at] == 0:
        return None, at + 1
    return read_compact_string(buf, at)


def read_bytes(buf: memoryview, at: int) -> tuple[bytes, int]:
    size, at = read_size(buf, at)
    if size < 0:
        _refuse_null()
    return bytes(buf[at : at + size]), at + size


def read_nullable_bytes(buf: memoryview, at: int) -> tuple[bytes | None, int]:
    size, at = read_size(buf, at)
    if size < 0:
        return None, at
    return bytes(buf[at : at + size]), at + size


def read_compact_bytes(buf: memoryview, at: int) -> tuple[bytes, int]:
    size, at = read_compact_size(buf, at)
    if size < 0:
        _refuse_null()
    return bytes(buf[at : at + size]), at + size


def read_compact_nullable_bytes(buf: memoryview, at: int) -> tuple[bytes | None, int]:
    size, at = read_compact_size(buf, at)
    if size < 0:
        return None, at
    return bytes(buf[at : at + size]), at + size


def read_nullable_records(buf: memoryview, at: int) -> tuple[memoryview | None, int]:
    size, at = read_size(buf, at)
    if size < 0:
        return None, at
    return buf[at : at + size], at + size


def read_compact_nullable_records(buf: memoryview, at: int) -> tuple[memoryview | None, int]:
    size, at = read_uvarint(buf, at)
    end = at + size - 1
    if end > len(buf):
        _refuse_size(size)
    if size == 0:
        return None, at
    return buf[at:end], end


def read_count(buf: memoryview, at: int, smallest: int) -> tuple[int, int]:
    """How many elements an array has, none of which takes fewer bytes than the smallest."""
    (count,) = _INT32.unpack_from(buf, at)
    at += 4
    if count < 0:
        _refuse_null()
    if count * smallest > len(buf) - at:
        _refuse_size(count)
    return count, at


def read_compact_count(buf: memoryview, at: int, smallest: int) -> tuple[int, int]:
    count = buf[at]
    if count < 0x80:
        at += 1
    else:
        count, at = read_uvarint(buf, at)
    count -= 1
    if count < 0:
        _refuse_null()
    if count * smallest > len(buf) - at:
        _refuse_size(count)
    return count, at


def read_nullable_count(buf: memoryview, at: int, smallest: int) -> tuple[int, int]:
    """The same, or -1 for null."""
    (count,) = _INT32.unpack_from(buf, at)
    if count == -1:
        return -1, at + 4
    return read_count(buf, at, smallest)


def read_compact_nullable_count(buf: memoryview, at: int, smallest: int) -> tuple[int, int]:
    if buf[at] == 0:
        return -1, at + 1
    return read_compact_count(buf, at, smallest)


def read_numbers(buf: memoryview, at: int, count: int, code: str, size: int) -> tuple[Any, int]:
    """An array of numbers, whose count has been read and checked."""
    return list(unpack_from(f">{count}{code}", buf, at)), at + count * size


def read_uuids(buf: memoryview, at: int, count: int) -> tuple[list[bytes], int]:
    end = at + count * 16
    return [bytes(buf[start : start + 16]) for start in range(at, end, 16)], end


def read_presence(buf: memoryview, at: int) -> tuple[bool, int]:
    """Whether a struct that may be null is there: a signed byte says so, negative for null."""
    return buf[at] < 0x80, at + 1


def read_tag(buf: memoryview, at: int) -> tuple[int, int, int]:
    """The number of a tagged field, and where its value begins and ends."""
    tag, at = read_uvarint(buf, at)
    size, at = read_uvarint(buf, at)
    if size > len(buf) - at:
        _refuse_size(size)
    return tag, at, at + size


def read_tag_count(buf: memoryview, at: int) -> tuple[int, int]:
    count, at = read_uvarint(buf, at)
    if count > TAGS_MAX:
        raise Malformed(f"{count} tagged fields in one place")
    return count, at


def check_tag(at: int, end: int) -> None:
    if at != end:
        raise Malformed("a tagged field is not as long as it says")


def skip_tagged(buf: memoryview, at: int) -> int:
    """Passes over tagged fields, none of which we know."""
    count, at = read_tag_count(buf, at)
    for _ in range(count):
        _, _, at = read_tag(buf, at)
    return at


def write_tagged(out: Sink, tagged: list[tuple[int, Sink]]) -> None:
    write_uvarint(out, len(tagged))
    for tag, value in tagged:
        write_uvarint(out, tag)
        write_uvarint(out, len(value))
        out += value


def write_string(out: Sink, value: str) -> None:
    raw = value.encode()
    out += _INT16.pack(len(raw))
    out += raw


def write_nullable_string(out: Sink, value: str | None) -> None:
    if value is None:
        out += b"\xff\xff"
    else:
        write_string(out, value)


def write_compact_string(out: Sink, value: str) -> None:
    raw = value.encode()
    size = len(raw)
    if size < 0x7F:
        out.append(size + 1)
    else:
        write_uvarint(out, size + 1)
    out += raw


def write_compact_nullable_string(out: Sink, value: str | None) -> None:
    if value is None:
        out.append(0)
    else:
        write_compact_string(out, value)


def write_bytes(out: Sink, value: Buffer) -> None:
    out += _INT32.pack(len(value))
    out += value


def write_nullable_bytes(out: Sink, value: Buffer | None) -> None:
    write_count(out, -1 if value is None else len(value))
    out += value or b""


def write_compact_bytes(out: Sink, value: Buffer) -> None:
    write_uvarint(out, len(value) + 1)
    out += value


def write_compact_nullable_bytes(out: Sink, value: Buffer | None) -> None:
    write_compact_count(out, -1 if value is None else len(value))
    out += value or b""


def write_nullable_records(out: Sink, value: Part | None) -> None:
    size = -1 if value is None else len(value)
    write_count(out, size)
    if value is not None:
        _write_part(out, value, size)


def write_compact_nullable_records(out: Sink, value: Part | None) -> None:
    size = -1 if value is None else len(value)
    write_compact_count(out, size)
    if value is not None:
        _write_part(out, value, size)


def _write_part(out: Sink, value: Part, size: int) -> None:
    if isinstance(value, FileRange) or size > SMALL_BYTES:
        out.cut(value, size)
    else:
        out += value


def write_count(out: Sink, count: int) -> None:
    """How many elements follow; -1 for null."""
    out += _INT32.pack(count)


def write_compact_count(out: Sink, count: int) -> None:
    if count < 0x7F:
        out.append(count + 1)
    else:
        write_uvarint(out, count + 1)


def write_presence(out: Sink, value: object) -> None:
    out.append(0xFF if value is None else 1)
