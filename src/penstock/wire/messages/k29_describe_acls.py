"""Generated from definitions/k29_describe_acls.txt; do not edit."""

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

_PACKED_0 = Packed(">bb")
_PACKED_1 = Packed(">b")
_PACKED_2 = Packed(">ih")


class AclDescription(Struct):
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AclDescription, int]:
        if version >= 2:
            principal, at = read_compact_string(buf, at)
        else:
            principal, at = read_string(buf, at)
        if version >= 2:
            host, at = read_compact_string(buf, at)
        else:
            host, at = read_string(buf, at)
        operation, permission_type = _PACKED_0.unpack_from(buf, at)
        at += 2
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AclDescription(principal, host, operation, permission_type), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_string(out, self.principal)
        else:
            write_string(out, self.principal)
        if version >= 2:
            write_compact_string(out, self.host)
        else:
            write_string(out, self.host)
        out += _PACKED_0.pack(self.operation, self.permission_type)
        if version >= 2:
            out.append(0)


class DescribeAclsResource(Struct):
    resource_type: int = 0
    resource_name: str = ""
    pattern_type: int = 3
    acls: list[AclDescription] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeAclsResource, int]:
        (resource_type,) = _PACKED_1.unpack_from(buf, at)
        at += 1
        if version >= 2:
            resource_name, at = read_compact_string(buf, at)
        else:
            resource_name, at = read_string(buf, at)
        (pattern_type,) = _PACKED_1.unpack_from(buf, at)
        at += 1
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 5)
        else:
            count, at = read_count(buf, at, 6)
        acls: list[AclDescription] = []
        for _ in range(count):
            acls_item, at = AclDescription.read(buf, at, version)
            acls.append(acls_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeAclsResource(resource_type, resource_name, pattern_type, acls), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.resource_type)
        if version >= 2:
            write_compact_string(out, self.resource_name)
        else:
            write_string(out, self.resource_name)
        out += _PACKED_1.pack(self.pattern_type)
        if version >= 2:
            write_compact_count(out, len(self.acls))
        else:
            write_count(out, len(self.acls))
        for acls_item in self.acls:
            acls_item.write(out, version)
        if version >= 2:
            out.append(0)


class DescribeAclsRequest(Message):
    KEY: ClassVar[int] = 29
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 2
    SHAPE: ClassVar[Shape] = (
        (1, 3, 1),
        (1, 3, "string"),
        (1, 3, 1),
        (1, 3, "string"),
        (1, 3, "string"),
        (1, 3, 2),
    )
    resource_type_filter: int = 0
    resource_name_filter: str | None = ""
    pattern_type_filter: int = 3
    principal_filter: str | None = ""
    host_filter: str | None = ""
    operation: int = 0
    permission_type: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeAclsRequest, int]:
        (resource_type_filter,) = _PACKED_1.unpack_from(buf, at)
        at += 1
        resource_name_filter: str | None
        if version >= 2:
            resource_name_filter, at = read_compact_nullable_string(buf, at)
        else:
            resource_name_filter, at = read_nullable_string(buf, at)
        (pattern_type_filter,) = _PACKED_1.unpack_from(buf, at)
        at += 1
        principal_filter: str | None
        if version >= 2:
            principal_filter, at = read_compact_nullable_string(buf, at)
        else:
            principal_filter, at = read_nullable_string(buf, at)
        host_filter: str | None
        if version >= 2:
            host_filter, at = read_compact_nullable_string(buf, at)
        else:
            host_filter, at = read_nullable_string(buf, at)
        operation, permission_type = _PACKED_0.unpack_from(buf, at)
        at += 2
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeAclsRequest(
            resource_type_filter,
            resource_name_filter,
            pattern_type_filter,
            principal_filter,
            host_filter,
            operation,
            permission_type,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.resource_type_filter)
        if version >= 2:
            write_compact_nullable_string(out, self.resource_name_filter)
        else:
            write_nullable_string(out, self.resource_name_filter)
        out += _PACKED_1.pack(self.pattern_type_filter)
        if version >= 2:
            write_compact_nullable_string(out, self.principal_filter)
        else:
            write_nullable_string(out, self.principal_filter)
        if version >= 2:
            write_compact_nullable_string(out, self.host_filter)
        else:
            write_nullable_string(out, self.host_filter)
        out += _PACKED_0.pack(self.operation, self.permission_type)
        if version >= 2:
            out.append(0)


class DescribeAclsResponse(Message):
    KEY: ClassVar[int] = 29
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 2
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    resources: list[DescribeAclsResource] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeAclsResponse, int]:
        throttle_time_ms, error_code = _PACKED_2.unpack_from(buf, at)
        at += 6
        error_message: str | None
        if version >= 2:
            error_message, at = read_compact_nullable_string(buf, at)
        else:
            error_message, at = read_nullable_string(buf, at)
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 5)
        else:
            count, at = read_count(buf, at, 8)
        resources: list[DescribeAclsResource] = []
        for _ in range(count):
            resources_item, at = DescribeAclsResource.read(buf, at, version)
            resources.append(resources_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeAclsResponse(throttle_time_ms, error_code, error_message, resources), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.throttle_time_ms, self.error_code)
        if version >= 2:
            write_compact_nullable_string(out, self.error_message)
        else:
            write_nullable_string(out, self.error_message)
        if version >= 2:
            write_compact_count(out, len(self.resources))
        else:
            write_count(out, len(self.resources))
        for resources_item in self.resources:
            resources_item.write(out, version)
        if version >= 2:
            out.append(0)
