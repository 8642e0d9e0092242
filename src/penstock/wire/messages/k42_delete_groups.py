"""Generated from definitions/k42_delete_groups.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_compact_count,
    read_compact_string,
    read_count,
    read_string,
    skip_tagged,
    write_compact_count,
    write_compact_string,
    write_count,
    write_string,
)

_PACKED_0 = Packed(">h")
_PACKED_1 = Packed(">i")


class DeletableGroupResult(Struct):
    group_id: str = ""
    error_code: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeletableGroupResult, int]:
        if version >= 2:
            group_id, at = read_compact_string(buf, at)
        else:
            group_id, at = read_string(buf, at)
        (error_code,) = _PACKED_0.unpack_from(buf, at)
        at += 2
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DeletableGroupResult(group_id, error_code), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_string(out, self.group_id)
        else:
            write_string(out, self.group_id)
        out += _PACKED_0.pack(self.error_code)
        if version >= 2:
            out.append(0)


class DeleteGroupsRequest(Message):
    KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2
    SHAPE: ClassVar[Shape] = (
        (0, 2, ("list", "string")),
    )
    groups_names: list[str] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteGroupsRequest, int]:
        if version >= 2:
            count, at = read_compact_count(buf, at, 1)
        else:
            count, at = read_count(buf, at, 2)
        groups_names: list[str] = []
        for _ in range(count):
            if version >= 2:
                groups_names_item, at = read_compact_string(buf, at)
            else:
                groups_names_item, at = read_string(buf, at)
            groups_names.append(groups_names_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DeleteGroupsRequest(groups_names), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_count(out, len(self.groups_names))
        else:
            write_count(out, len(self.groups_names))
        for groups_names_item in self.groups_names:
            if version >= 2:
                write_compact_string(out, groups_names_item)
            else:
                write_string(out, groups_names_item)
        if version >= 2:
            out.append(0)


class DeleteGroupsResponse(Message):
    KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2
    throttle_time_ms: int = 0
    results: list[DeletableGroupResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteGroupsResponse, int]:
        (throttle_time_ms,) = _PACKED_1.unpack_from(buf, at)
        at += 4
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 4)
        results: list[DeletableGroupResult] = []
        for _ in range(count):
            results_item, at = DeletableGroupResult.read(buf, at, version)
            results.append(results_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DeleteGroupsResponse(throttle_time_ms, results), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.throttle_time_ms)
        if version >= 2:
            write_compact_count(out, len(self.results))
        else:
            write_count(out, len(self.results))
        for results_item in self.results:
            results_item.write(out, version)
        if version >= 2:
            out.append(0)
