"""Generated from definitions/k64_unregister_broker.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_compact_nullable_string,
    skip_tagged,
    write_compact_nullable_string,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">ih")


class UnregisterBrokerRequest(Message):
    KEY: ClassVar[int] = 64
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 0, 4),
    )
    broker_id: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[UnregisterBrokerRequest, int]:
        (broker_id,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return UnregisterBrokerRequest(broker_id), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.broker_id)
        out.append(0)


class UnregisterBrokerResponse(Message):
    KEY: ClassVar[int] = 64
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[UnregisterBrokerResponse, int]:
        throttle_time_ms, error_code = _PACKED_1.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return UnregisterBrokerResponse(throttle_time_ms, error_code, error_message), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.throttle_time_ms, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        out.append(0)
