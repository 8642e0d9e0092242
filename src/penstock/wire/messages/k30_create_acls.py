"""Generated from definitions/k30_create_acls.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_nullable_string,
    read_string,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_nullable_string,
    write_string,
)

_PACKED_0 = Packed(">b")
_PACKED_1 = Packed(">bb")
_PACKED_2 = Packed(">h")
_PACKED_3 = Packed(">i")


class AclCreation(Struct):
    resource_type: int = 0
    resource_name: str = ""
    resource_pattern_type: int = 3
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AclCreation, int]:
        (resource_type,) = _PACKED_0.unpack_from(buf, at)
        at += 1
        if version >= 2:
            resource_name, at = read_compact_string(buf, at)
        else:
            resource_name, at = read_string(buf, at)
        (resource_pattern_type,) = _PACKED_0.unpack_from(buf, at)
        at += 1
        if version >= 2:
            principal, at = read_compact_string(buf, at)
        else:
            principal, at = read_string(buf, at)
        if version >= 2:
            host, at = read_compact_string(buf, at)
        else:
            host, at = read_string(buf, at)
        operation, permission_type = _PACKED_1.unpack_from(buf, at)
        at += 2
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AclCreation(
            resource_type,
            resource_name,
            resource_pattern_type,
            principal,
            host,
            operation,
            permission_type,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.resource_type)
        if version >= 2:
            write_compact_string(out, self.resource_name)
        else:
            write_string(out, self.resource_name)
        out += _PACKED_0.pack(self.resource_pattern_type)
        if version >= 2:
            write_compact_string(out, self.principal)
        else:
            write_string(out, self.principal)
        if version >= 2:
            write_compact_string(out, self.host)
        else:
            write_string(out, self.host)
        out += _PACKED_1.pack(self.operation, self.permission_type)
        if version >= 2:
            out.append(0)


class AclCreationResult(Struct):
    error_code: int = 0
    error_message: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AclCreationResult, int]:
        (error_code,) = _PACKED_2.unpack_from(buf, at)
        at += 2
        error_message: str | None
        if version >= 2:
            error_message, at = read_compact_nullable_string(buf, at)
        else:
            error_message, at = read_nullable_string(buf, at)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AclCreationResult(error_code, error_message), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.error_code)
        if version >= 2:
            write_compact_nullable_string(out, self.error_message)
        else:
            write_nullable_string(out, self.error_message)
        if version >= 2:
            out.append(0)


class CreateAclsRequest(Message):
    KEY: ClassVar[int] = 30
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 2
    SHAPE: ClassVar[Shape] = (
        (1, 3, ("list", ((1, 3, 1), (1, 3, "string"), (1, 3, 1), (1, 3, "string"), (1, 3, "string"), (1, 3, 2),))),
    )
    creations: list[AclCreation] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CreateAclsRequest, int]:
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 8)
        else:
            count, at = read_count(buf, at, 10)
        creations: list[AclCreation] = []
        for _ in range(count):
            creations_item, at = AclCreation.read(buf, at, version)
            creations.append(creations_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return CreateAclsRequest(creations), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_count(out, len(self.creations))
        else:
            write_count(out, len(self.creations))
        for creations_item in self.creations:
            creations_item.write(out, version)
        if version >= 2:
            out.append(0)


class CreateAclsResponse(Message):
    KEY: ClassVar[int] = 30
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 2
    throttle_time_ms: int = 0
    results: list[AclCreationResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CreateAclsResponse, int]:
        (throttle_time_ms,) = _PACKED_3.unpack_from(buf, at)
        at += 4
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 4)
        results: list[AclCreationResult] = []
        for _ in range(count):
            results_item, at = AclCreationResult.read(buf, at, version)
            results.append(results_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return CreateAclsResponse(throttle_time_ms, results), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_3.pack(self.throttle_time_ms)
        if version >= 2:
            write_compact_count(out, len(self.results))
        else:
            write_count(out, len(self.results))
        for results_item in self.results:
            results_item.write(out, version)
        if version >= 2:
            out.append(0)
