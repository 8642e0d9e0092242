"""Generated from definitions/k39_renew_delegation_token.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_bytes,
    read_compact_bytes,
    skip_tagged,
    write_bytes,
    write_compact_bytes,
)

_PACKED_0 = Packed(">q")
_PACKED_1 = Packed(">hqi")


class RenewDelegationTokenRequest(Message):
    KEY: ClassVar[int] = 39
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2
    SHAPE: ClassVar[Shape] = (
        (1, 2, "bytes"),
        (1, 2, 8),
    )
    hmac: bytes = b""
    renew_period_ms: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[RenewDelegationTokenRequest, int]:
        if version >= 2:
            hmac, at = read_compact_bytes(buf, at)
        else:
            hmac, at = read_bytes(buf, at)
        (renew_period_ms,) = _PACKED_0.unpack_from(buf, at)
        at += 8
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return RenewDelegationTokenRequest(hmac, renew_period_ms), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_bytes(out, self.hmac)
        else:
            write_bytes(out, self.hmac)
        out += _PACKED_0.pack(self.renew_period_ms)
        if version >= 2:
            out.append(0)


class RenewDelegationTokenResponse(Message):
    KEY: ClassVar[int] = 39
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2
    error_code: int = 0
    expiry_timestamp_ms: int = 0
    throttle_time_ms: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[RenewDelegationTokenResponse, int]:
        error_code, expiry_timestamp_ms, throttle_time_ms = _PACKED_1.unpack_from(buf, at)
        at += 14
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return RenewDelegationTokenResponse(
            error_code,
            expiry_timestamp_ms,
            throttle_time_ms,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.error_code, self.expiry_timestamp_ms, self.throttle_time_ms)
        if version >= 2:
            out.append(0)
