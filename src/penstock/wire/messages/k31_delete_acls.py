"""Generated from definitions/k31_delete_acls.txt; do not edit."""

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


class DeleteAclsFilter(Struct):
    resource_type_filter: int = 0
    resource_name_filter: str | None = ""
    pattern_type_filter: int = 3
    principal_filter: str | None = ""
    host_filter: str | None = ""
    operation: int = 0
    permission_type: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteAclsFilter, int]:
        (resource_type_filter,) = _PACKED_0.unpack_from(buf, at)
        at += 1
        resource_name_filter: str | None
        if version >= 2:
            resource_name_filter, at = read_compact_nullable_string(buf, at)
        else:
            resource_name_filter, at = read_nullable_string(buf, at)
        (pattern_type_filter,) = _PACKED_0.unpack_from(buf, at)
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
        operation, permission_type = _PACKED_1.unpack_from(buf, at)
        at += 2
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DeleteAclsFilter(
            resource_type_filter,
            resource_name_filter,
            pattern_type_filter,
            principal_filter,
            host_filter,
            operation,
            permission_type,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.resource_type_filter)
        if version >= 2:
            write_compact_nullable_string(out, self.resource_name_filter)
        else:
            write_nullable_string(out, self.resource_name_filter)
        out += _PACKED_0.pack(self.pattern_type_filter)
        if version >= 2:
            write_compact_nullable_string(out, self.principal_filter)
        else:
            write_nullable_string(out, self.principal_filter)
        if version >= 2:
            write_compact_nullable_string(out, self.host_filter)
        else:
            write_nullable_string(out, self.host_filter)
        out += _PACKED_1.pack(self.operation, self.permission_type)
        if version >= 2:
            out.append(0)


class DeleteAclsMatchingAcl(Struct):
    error_code: int = 0
    error_message: str | None = None
    resource_type: int = 0
    resource_name: str = ""
    pattern_type: int = 3
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteAclsMatchingAcl, int]:
        (error_code,) = _PACKED_2.unpack_from(buf, at)
        at += 2
        error_message: str | None
        if version >= 2:
            error_message, at = read_compact_nullable_string(buf, at)
        else:
            error_message, at = read_nullable_string(buf, at)
        (resource_type,) = _PACKED_0.unpack_from(buf, at)
        at += 1
        if version >= 2:
            resource_name, at = read_compact_string(buf, at)
        else:
            resource_name, at = read_string(buf, at)
        (pattern_type,) = _PACKED_0.unpack_from(buf, at)
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
        return DeleteAclsMatchingAcl(
            error_code,
            error_message,
            resource_type,
            resource_name,
            pattern_type,
            principal,
            host,
            operation,
            permission_type,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.error_code)
        if version >= 2:
            write_compact_nullable_string(out, self.error_message)
        else:
            write_nullable_string(out, self.error_message)
        out += _PACKED_0.pack(self.resource_type)
        if version >= 2:
            write_compact_string(out, self.resource_name)
        else:
            write_string(out, self.resource_name)
        out += _PACKED_0.pack(self.pattern_type)
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


class DeleteAclsFilterResult(Struct):
    error_code: int = 0
    error_message: str | None = None
    matching_acls: list[DeleteAclsMatchingAcl] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteAclsFilterResult, int]:
        (error_code,) = _PACKED_2.unpack_from(buf, at)
        at += 2
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
                count, at = read_compact_count(buf, at, 11)
        else:
            count, at = read_count(buf, at, 14)
        matching_acls: list[DeleteAclsMatchingAcl] = []
        for _ in range(count):
            matching_acls_item, at = DeleteAclsMatchingAcl.read(buf, at, version)
            matching_acls.append(matching_acls_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DeleteAclsFilterResult(error_code, error_message, matching_acls), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.error_code)
        if version >= 2:
            write_compact_nullable_string(out, self.error_message)
        else:
            write_nullable_string(out, self.error_message)
        if version >= 2:
            write_compact_count(out, len(self.matching_acls))
        else:
            write_count(out, len(self.matching_acls))
        for matching_acls_item in self.matching_acls:
            matching_acls_item.write(out, version)
        if version >= 2:
            out.append(0)


class DeleteAclsRequest(Message):
    KEY: ClassVar[int] = 31
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 2
    SHAPE: ClassVar[Shape] = (
        (1, 3, ("list", ((1, 3, 1), (1, 3, "string"), (1, 3, 1), (1, 3, "string"), (1, 3, "string"), (1, 3, 2),))),
    )
    filters: list[DeleteAclsFilter] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteAclsRequest, int]:
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 8)
        else:
            count, at = read_count(buf, at, 10)
        filters: list[DeleteAclsFilter] = []
        for _ in range(count):
            filters_item, at = DeleteAclsFilter.read(buf, at, version)
            filters.append(filters_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DeleteAclsRequest(filters), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_count(out, len(self.filters))
        else:
            write_count(out, len(self.filters))
        for filters_item in self.filters:
            filters_item.write(out, version)
        if version >= 2:
            out.append(0)


class DeleteAclsResponse(Message):
    KEY: ClassVar[int] = 31
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 2
    throttle_time_ms: int = 0
    filter_results: list[DeleteAclsFilterResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteAclsResponse, int]:
        (throttle_time_ms,) = _PACKED_3.unpack_from(buf, at)
        at += 4
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 5)
        else:
            count, at = read_count(buf, at, 8)
        filter_results: list[DeleteAclsFilterResult] = []
        for _ in range(count):
            filter_results_item, at = DeleteAclsFilterResult.read(buf, at, version)
            filter_results.append(filter_results_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DeleteAclsResponse(throttle_time_ms, filter_results), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_3.pack(self.throttle_time_ms)
        if version >= 2:
            write_compact_count(out, len(self.filter_results))
        else:
            write_count(out, len(self.filter_results))
        for filter_results_item in self.filter_results:
            filter_results_item.write(out, version)
        if version >= 2:
            out.append(0)
