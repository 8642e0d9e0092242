"""Generated from definitions/k72_push_telemetry.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    read_compact_bytes,
    skip_tagged,
    write_compact_bytes,
)

_PACKED_0 = Packed(">16si?b")
_PACKED_1 = Packed(">ih")


class PushTelemetryRequest(Message):
    KEY: ClassVar[int] = 72
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 0, 22),
        (0, 0, "bytes"),
    )
    client_instance_id: bytes = NULL_UUID
    subscription_id: int = 0
    terminating: bool = False
    compression_type: int = 0
    metrics: bytes = b""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[PushTelemetryRequest, int]:
        client_instance_id, subscription_id, terminating, compression_type = _PACKED_0.unpack_from(buf, at)
        at += 22
        metrics, at = read_compact_bytes(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return PushTelemetryRequest(
            client_instance_id,
            subscription_id,
            terminating,
            compression_type,
            metrics,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.client_instance_id, self.subscription_id, self.terminating, self.compression_type)
        write_compact_bytes(out, self.metrics)
        out.append(0)


class PushTelemetryResponse(Message):
    KEY: ClassVar[int] = 72
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    error_code: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[PushTelemetryResponse, int]:
        throttle_time_ms, error_code = _PACKED_1.unpack_from(buf, at)
        at += 6
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return PushTelemetryResponse(throttle_time_ms, error_code), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.throttle_time_ms, self.error_code)
        out.append(0)
