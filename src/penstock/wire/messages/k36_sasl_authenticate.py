"""Generated from definitions/k36_sasl_authenticate.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_bytes,
    read_compact_bytes,
    read_compact_nullable_string,
    read_nullable_string,
    skip_tagged,
    write_bytes,
    write_compact_bytes,
    write_compact_nullable_string,
    write_nullable_string,
)

_PACKED_0 = Packed(">h")
_PACKED_1 = Packed(">q")


class SaslAuthenticateRequest(Message):
    KEY: ClassVar[int] = 36
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2
    SHAPE: ClassVar[Shape] = (
        (0, 2, "bytes"),
    )
    auth_bytes: bytes = b""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[SaslAuthenticateRequest, int]:
        if version >= 2:
            auth_bytes, at = read_compact_bytes(buf, at)
        else:
            auth_bytes, at = read_bytes(buf, at)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return SaslAuthenticateRequest(auth_bytes), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_bytes(out, self.auth_bytes)
        else:
            write_bytes(out, self.auth_bytes)
        if version >= 2:
            out.append(0)


class SaslAuthenticateResponse(Message):
    KEY: ClassVar[int] = 36
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2
    error_code: int = 0
    error_message: str | None = None
    auth_bytes: bytes = b""
    session_lifetime_ms: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[SaslAuthenticateResponse, int]:
        (error_code,) = _PACKED_0.unpack_from(buf, at)
        at += 2
        error_message: str | None
        if version >= 2:
            error_message, at = read_compact_nullable_string(buf, at)
        else:
            error_message, at = read_nullable_string(buf, at)
        if version >= 2:
            auth_bytes, at = read_compact_bytes(buf, at)
        else:
            auth_bytes, at = read_bytes(buf, at)
        session_lifetime_ms: int = 0
        if version >= 1:
            (session_lifetime_ms,) = _PACKED_1.unpack_from(buf, at)
            at += 8
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return SaslAuthenticateResponse(
            error_code,
            error_message,
            auth_bytes,
            session_lifetime_ms,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.error_code)
        if version >= 2:
            write_compact_nullable_string(out, self.error_message)
        else:
            write_nullable_string(out, self.error_message)
        if version >= 2:
            write_compact_bytes(out, self.auth_bytes)
        else:
            write_bytes(out, self.auth_bytes)
        if version >= 1:
            out += _PACKED_1.pack(self.session_lifetime_ms)
        if version >= 2:
            out.append(0)
