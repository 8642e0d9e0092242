"""Generated from definitions/k17_sasl_handshake.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_count,
    read_string,
    write_count,
    write_string,
)

_PACKED_0 = Packed(">h")


class SaslHandshakeRequest(Message):
    KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 32767
    SHAPE: ClassVar[Shape] = (
        (0, 1, "string"),
    )
    mechanism: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[SaslHandshakeRequest, int]:
        mechanism, at = read_string(buf, at)
        return SaslHandshakeRequest(mechanism), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.mechanism)


class SaslHandshakeResponse(Message):
    KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 32767
    error_code: int = 0
    mechanisms: list[str] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[SaslHandshakeResponse, int]:
        (error_code,) = _PACKED_0.unpack_from(buf, at)
        at += 2
        count, at = read_count(buf, at, 2)
        mechanisms: list[str] = []
        for _ in range(count):
            mechanisms_item, at = read_string(buf, at)
            mechanisms.append(mechanisms_item)
        return SaslHandshakeResponse(error_code, mechanisms), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.error_code)
        write_count(out, len(self.mechanisms))
        for mechanisms_item in self.mechanisms:
            write_string(out, mechanisms_item)
