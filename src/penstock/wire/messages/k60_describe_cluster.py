"""Generated from definitions/k60_describe_cluster.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    absent,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">?")
_PACKED_2 = Packed(">?b?")
_PACKED_3 = Packed(">b")
_PACKED_4 = Packed(">ih")


class DescribeClusterBroker(Struct):
    broker_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None
    is_fenced: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeClusterBroker, int]:
        (broker_id,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        host, at = read_compact_string(buf, at)
        (port,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        rack, at = read_compact_nullable_string(buf, at)
        is_fenced: bool = False
        if version >= 2:
            (is_fenced,) = _PACKED_1.unpack_from(buf, at)
            at += 1
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeClusterBroker(broker_id, host, port, rack, is_fenced), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.broker_id)
        write_compact_string(out, self.host)
        out += _PACKED_0.pack(self.port)
        write_compact_nullable_string(out, self.rack)
        if version >= 2:
            out += _PACKED_1.pack(self.is_fenced)
        out.append(0)


class DescribeClusterRequest(Message):
    KEY: ClassVar[int] = 60
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 2, 1),
        (1, 2, 1),
        (2, 2, 1),
    )
    include_cluster_authorized_operations: bool = False
    endpoint_type: int = 1
    include_fenced_brokers: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeClusterRequest, int]:
        if version >= 2:
            include_cluster_authorized_operations, endpoint_type, include_fenced_brokers = _PACKED_2.unpack_from(buf, at)
            at += 3
        else:
            (include_cluster_authorized_operations,) = _PACKED_1.unpack_from(buf, at)
            at += 1
            endpoint_type = 1
            if version >= 1:
                (endpoint_type,) = _PACKED_3.unpack_from(buf, at)
                at += 1
            include_fenced_brokers = False
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeClusterRequest(
            include_cluster_authorized_operations,
            endpoint_type,
            include_fenced_brokers,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            out += _PACKED_2.pack(self.include_cluster_authorized_operations, self.endpoint_type, self.include_fenced_brokers)
        else:
            out += _PACKED_1.pack(self.include_cluster_authorized_operations)
            if version >= 1:
                out += _PACKED_3.pack(self.endpoint_type)
            elif self.endpoint_type != 1:
                raise absent(version, "endpoint_type")
            if self.include_fenced_brokers:
                raise absent(version, "include_fenced_brokers")
        out.append(0)


class DescribeClusterResponse(Message):
    KEY: ClassVar[int] = 60
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    endpoint_type: int = 1
    cluster_id: str = ""
    controller_id: int = -1
    brokers: list[DescribeClusterBroker] = []
    cluster_authorized_operations: int = -2147483648

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeClusterResponse, int]:
        throttle_time_ms, error_code = _PACKED_4.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        endpoint_type: int = 1
        if version >= 1:
            (endpoint_type,) = _PACKED_3.unpack_from(buf, at)
            at += 1
        cluster_id, at = read_compact_string(buf, at)
        (controller_id,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 11)
        brokers: list[DescribeClusterBroker] = []
        for _ in range(count):
            brokers_item, at = DescribeClusterBroker.read(buf, at, version)
            brokers.append(brokers_item)
        (cluster_authorized_operations,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeClusterResponse(
            throttle_time_ms,
            error_code,
            error_message,
            endpoint_type,
            cluster_id,
            controller_id,
            brokers,
            cluster_authorized_operations,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_4.pack(self.throttle_time_ms, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        if version >= 1:
            out += _PACKED_3.pack(self.endpoint_type)
        write_compact_string(out, self.cluster_id)
        out += _PACKED_0.pack(self.controller_id)
        write_compact_count(out, len(self.brokers))
        for brokers_item in self.brokers:
            brokers_item.write(out, version)
        out += _PACKED_0.pack(self.cluster_authorized_operations)
        out.append(0)
