"""What coordinators store as bytes, and the client formats that are embedded in it.

A key begins with the type of the record, a value with a version; what they are made of is
generated. A stored record is read strictly: it has been written by a broker, and bytes that we do
not understand are better noticed than lost. The client formats are read as clients read them: of
a version that we do not know, as much as the last one we know.
"""

from __future__ import annotations

from struct import Struct, error
from typing import Any, ClassVar, Final, TypeVar

import msgspec

from penstock.errors import ErrorCode, Malformed, Refused
from penstock.wire.primitives import Sink
from penstock.wire.stored import key_types
from penstock.world.ports import Buffer

_INT16: Final = Struct(">h")
_BROKEN: Final = (IndexError, error, UnicodeDecodeError)


class Versioned(msgspec.Struct):
    """What begins with its version: the value of a record, or a client format."""

    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Any, int]:
        raise TypeError("only generated classes can be decoded")

    def write(self, out: Sink, version: int) -> None:
        raise TypeError("only generated classes can be encoded")


class StoredKey(msgspec.Struct):
    """The key of a record, which says what its value is."""

    TYPE: ClassVar[int]
    VALUE: ClassVar[type[Versioned]]

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Any, int]:
        raise TypeError("only generated classes can be decoded")

    def write(self, out: Sink, version: int) -> None:
        raise TypeError("only generated classes can be encoded")


V = TypeVar("V", bound=Versioned)


def encode_key(key: StoredKey) -> bytes:
    out = Sink(_INT16.pack(key.TYPE))
    _write(key, out, 0)
    return bytes(out)


def encode_value(value: Versioned, version: int | None = None) -> bytes:
    """A value or a client format, in the newest version if no other is asked for."""
    if version is None:
        version = value.MAX_VERSION
    elif not value.MIN_VERSION <= version <= value.MAX_VERSION:
        raise ValueError(f"{type(value).__name__} has no version {version}")
    out = Sink(_INT16.pack(version))
    _write(value, out, version)
    return bytes(out)


def decode_key(raw: Buffer, topic: str) -> StoredKey | None:
    """The key of a record, or None: it is of a type that we do not know, and is to be skipped."""
    buf = memoryview(raw)
    try:
        (number,) = _INT16.unpack_from(buf)
        kind = key_types(topic).get(number)
        if kind is None:
            return None
        key: StoredKey
        key, end = kind.read(buf, 2, 0)
    except _BROKEN as broken:
        raise Malformed(f"a stored key: {broken}") from broken
    if end != len(buf):
        raise _too_long(kind, len(buf) - end)
    return key


def decode_value(key: StoredKey, raw: Buffer) -> Versioned:
    """The value of the record that has this key."""
    kind = key.VALUE
    buf = memoryview(raw)
    try:
        (version,) = _INT16.unpack_from(buf)
        if not kind.MIN_VERSION <= version <= kind.MAX_VERSION:
            raise _unknown_version(kind, version)
        value: Versioned
        value, end = kind.read(buf, 2, version)
    except _BROKEN as broken:
        raise Malformed(f"{kind.__name__}: {broken}") from broken
    if end != len(buf):
        raise _too_long(kind, len(buf) - end)
    return value


def decode_embedded(kind: type[V], raw: Buffer) -> V:
    """A client format. Newer versions only add to the end, so that older readers can go on."""
    buf = memoryview(raw)
    try:
        (version,) = _INT16.unpack_from(buf)
        if version < kind.MIN_VERSION:
            raise _unknown_version(kind, version)
        value: V = kind.read(buf, 2, min(version, kind.MAX_VERSION))[0]
    except _BROKEN as broken:
        raise Malformed(f"{kind.__name__}: {broken}") from broken
    return value


def _write(what: StoredKey | Versioned, out: Sink, version: int) -> None:
    """Refuses what does not fit: a request can hold longer strings than a stored record."""
    try:
        what.write(out, version)
    except error as broken:
        reason = f"{type(what).__name__} cannot be stored ({broken}): send shorter strings"
        raise Refused(ErrorCode.INVALID_REQUEST, reason) from broken


def _unknown_version(kind: type[Versioned], version: int) -> Malformed:
    if version < kind.MIN_VERSION:
        return Malformed(f"{kind.__name__} has no version {version}")
    return Malformed(
        f"{kind.__name__} version {version} was written by a newer release; "
        f"this one knows up to {kind.MAX_VERSION}"
    )


def _too_long(kind: type[StoredKey | Versioned], left: int) -> Malformed:
    return Malformed(f"{kind.__name__} is followed by {left} bytes that do not belong to it")
