"""Generated from definitions/k10_find_coordinator.txt; do not edit."""

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
    read_nullable_string,
    read_string,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">ih")
_PACKED_2 = Packed(">b")
_PACKED_3 = Packed(">h")


class Coordinator(Struct):
    key: str = ""
    node_id: int = 0
    host: str = ""
    port: int = 0
    error_code: int = 0
    error_message: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Coordinator, int]:
        key, at = read_compact_string(buf, at)
        (node_id,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        host, at = read_compact_string(buf, at)
        port, error_code = _PACKED_1.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return Coordinator(key, node_id, host, port, error_code, error_message), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.key)
        out += _PACKED_0.pack(self.node_id)
        write_compact_string(out, self.host)
        out += _PACKED_1.pack(self.port, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        out.append(0)


class FindCoordinatorRequest(Message):
    KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int] = 3
    SHAPE: ClassVar[Shape] = (
        (0, 3, "string"),
        (1, 6, 1),
        (4, 6, ("list", "string")),
    )
    key: str = ""
    key_type: int = 0
    coordinator_keys: list[str] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[FindCoordinatorRequest, int]:
        key: str = ""
        if version <= 3:
            if version >= 3:
                key, at = read_compact_string(buf, at)
            else:
                key, at = read_string(buf, at)
        key_type: int = 0
        if version >= 1:
            (key_type,) = _PACKED_2.unpack_from(buf, at)
            at += 1
        coordinator_keys: list[str] = []
        if version >= 4:
            count, at = read_compact_count(buf, at, 1)
            coordinator_keys = []
            for _ in range(count):
                coordinator_keys_item, at = read_compact_string(buf, at)
                coordinator_keys.append(coordinator_keys_item)
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return FindCoordinatorRequest(key, key_type, coordinator_keys), at

    def write(self, out: Sink, version: int) -> None:
        if version <= 3:
            if version >= 3:
                write_compact_string(out, self.key)
            else:
                write_string(out, self.key)
        elif self.key != "":
            raise absent(version, "key")
        if version >= 1:
            out += _PACKED_2.pack(self.key_type)
        elif self.key_type != 0:
            raise absent(version, "key_type")
        if version >= 4:
            write_compact_count(out, len(self.coordinator_keys))
            for coordinator_keys_item in self.coordinator_keys:
                write_compact_string(out, coordinator_keys_item)
        elif self.coordinator_keys:
            raise absent(version, "coordinator_keys")
        if version >= 3:
            out.append(0)


class FindCoordinatorResponse(Message):
    KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int] = 3
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    node_id: int = 0
    host: str = ""
    port: int = 0
    coordinators: list[Coordinator] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[FindCoordinatorResponse, int]:
        throttle_time_ms: int = 0
        if version >= 1:
            (throttle_time_ms,) = _PACKED_0.unpack_from(buf, at)
            at += 4
        error_code: int = 0
        if version <= 3:
            (error_code,) = _PACKED_3.unpack_from(buf, at)
            at += 2
        error_message: str | None = None
        if 1 <= version <= 3:
            if version >= 3:
                error_message, at = read_compact_nullable_string(buf, at)
            else:
                error_message, at = read_nullable_string(buf, at)
        node_id: int = 0
        if version <= 3:
            (node_id,) = _PACKED_0.unpack_from(buf, at)
            at += 4
        host: str = ""
        if version <= 3:
            if version >= 3:
                host, at = read_compact_string(buf, at)
            else:
                host, at = read_string(buf, at)
        port: int = 0
        if version <= 3:
            (port,) = _PACKED_0.unpack_from(buf, at)
            at += 4
        coordinators: list[Coordinator] = []
        if version >= 4:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 14)
            coordinators = []
            for _ in range(count):
                coordinators_item, at = Coordinator.read(buf, at, version)
                coordinators.append(coordinators_item)
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return FindCoordinatorResponse(
            throttle_time_ms,
            error_code,
            error_message,
            node_id,
            host,
            port,
            coordinators,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            out += _PACKED_0.pack(self.throttle_time_ms)
        if version <= 3:
            out += _PACKED_3.pack(self.error_code)
        if 1 <= version <= 3:
            if version >= 3:
                write_compact_nullable_string(out, self.error_message)
            else:
                write_nullable_string(out, self.error_message)
        if version <= 3:
            out += _PACKED_0.pack(self.node_id)
        if version <= 3:
            if version >= 3:
                write_compact_string(out, self.host)
            else:
                write_string(out, self.host)
        if version <= 3:
            out += _PACKED_0.pack(self.port)
        if version >= 4:
            write_compact_count(out, len(self.coordinators))
            for coordinators_item in self.coordinators:
                coordinators_item.write(out, version)
        if version >= 3:
            out.append(0)
