"""Generated from definitions/k71_get_telemetry_subscriptions.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    read_compact_count,
    read_compact_string,
    read_numbers,
    skip_tagged,
    write_compact_count,
    write_compact_string,
)

_PACKED_0 = Packed(">16s")
_PACKED_1 = Packed(">ih16si")
_PACKED_2 = Packed(">ii?")
_PACKED_3 = Packed(">b")


class GetTelemetrySubscriptionsRequest(Message):
    KEY: ClassVar[int] = 71
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 0, 16),
    )
    client_instance_id: bytes = NULL_UUID

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[GetTelemetrySubscriptionsRequest, int]:
        (client_instance_id,) = _PACKED_0.unpack_from(buf, at)
        at += 16
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return GetTelemetrySubscriptionsRequest(client_instance_id), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.client_instance_id)
        out.append(0)


class GetTelemetrySubscriptionsResponse(Message):
    KEY: ClassVar[int] = 71
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    error_code: int = 0
    client_instance_id: bytes = NULL_UUID
    subscription_id: int = 0
    accepted_compression_types: list[int] = []
    push_interval_ms: int = 0
    telemetry_max_bytes: int = 0
    delta_temporality: bool = False
    requested_metrics: list[str] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[GetTelemetrySubscriptionsResponse, int]:
        throttle_time_ms, error_code, client_instance_id, subscription_id = _PACKED_1.unpack_from(buf, at)
        at += 26
        count, at = read_compact_count(buf, at, 1)
        accepted_compression_types, at = read_numbers(buf, at, count, "b", 1)
        push_interval_ms, telemetry_max_bytes, delta_temporality = _PACKED_2.unpack_from(buf, at)
        at += 9
        count, at = read_compact_count(buf, at, 1)
        requested_metrics: list[str] = []
        for _ in range(count):
            requested_metrics_item, at = read_compact_string(buf, at)
            requested_metrics.append(requested_metrics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return GetTelemetrySubscriptionsResponse(
            throttle_time_ms,
            error_code,
            client_instance_id,
            subscription_id,
            accepted_compression_types,
            push_interval_ms,
            telemetry_max_bytes,
            delta_temporality,
            requested_metrics,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.throttle_time_ms, self.error_code, self.client_instance_id, self.subscription_id)
        write_compact_count(out, len(self.accepted_compression_types))
        for accepted_compression_types_item in self.accepted_compression_types:
            out += _PACKED_3.pack(accepted_compression_types_item)
        out += _PACKED_2.pack(self.push_interval_ms, self.telemetry_max_bytes, self.delta_temporality)
        write_compact_count(out, len(self.requested_metrics))
        for requested_metrics_item in self.requested_metrics:
            write_compact_string(out, requested_metrics_item)
        out.append(0)
