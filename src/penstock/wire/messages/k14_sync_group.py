"""Generated from definitions/k14_sync_group.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    absent,
    read_bytes,
    read_compact_bytes,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_nullable_string,
    read_string,
    skip_tagged,
    write_bytes,
    write_compact_bytes,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_nullable_string,
    write_string,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">ih")
_PACKED_2 = Packed(">h")


class SyncGroupRequestAssignment(Struct):
    member_id: str = ""
    assignment: bytes = b""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[SyncGroupRequestAssignment, int]:
        if version >= 4:
            member_id, at = read_compact_string(buf, at)
        else:
            member_id, at = read_string(buf, at)
        if version >= 4:
            assignment, at = read_compact_bytes(buf, at)
        else:
            assignment, at = read_bytes(buf, at)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return SyncGroupRequestAssignment(member_id, assignment), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 4:
            write_compact_string(out, self.member_id)
        else:
            write_string(out, self.member_id)
        if version >= 4:
            write_compact_bytes(out, self.assignment)
        else:
            write_bytes(out, self.assignment)
        if version >= 4:
            out.append(0)


class SyncGroupRequest(Message):
    KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 4
    SHAPE: ClassVar[Shape] = (
        (0, 5, "string"),
        (0, 5, 4),
        (0, 5, "string"),
        (3, 5, "string"),
        (5, 5, "string"),
        (5, 5, "string"),
        (0, 5, ("list", ((0, 5, "string"), (0, 5, "bytes"),))),
    )
    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: list[SyncGroupRequestAssignment] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[SyncGroupRequest, int]:
        if version >= 4:
            group_id, at = read_compact_string(buf, at)
        else:
            group_id, at = read_string(buf, at)
        (generation_id,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        if version >= 4:
            member_id, at = read_compact_string(buf, at)
        else:
            member_id, at = read_string(buf, at)
        group_instance_id: str | None = None
        if version >= 3:
            if version >= 4:
                group_instance_id, at = read_compact_nullable_string(buf, at)
            else:
                group_instance_id, at = read_nullable_string(buf, at)
        protocol_type: str | None = None
        if version >= 5:
            protocol_type, at = read_compact_nullable_string(buf, at)
        protocol_name: str | None = None
        if version >= 5:
            protocol_name, at = read_compact_nullable_string(buf, at)
        if version >= 4:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        assignments: list[SyncGroupRequestAssignment] = []
        for _ in range(count):
            assignments_item, at = SyncGroupRequestAssignment.read(buf, at, version)
            assignments.append(assignments_item)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return SyncGroupRequest(
            group_id,
            generation_id,
            member_id,
            group_instance_id,
            protocol_type,
            protocol_name,
            assignments,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 4:
            write_compact_string(out, self.group_id)
        else:
            write_string(out, self.group_id)
        out += _PACKED_0.pack(self.generation_id)
        if version >= 4:
            write_compact_string(out, self.member_id)
        else:
            write_string(out, self.member_id)
        if version >= 3:
            if version >= 4:
                write_compact_nullable_string(out, self.group_instance_id)
            else:
                write_nullable_string(out, self.group_instance_id)
        elif self.group_instance_id is not None:
            raise absent(version, "group_instance_id")
        if version >= 5:
            write_compact_nullable_string(out, self.protocol_type)
        if version >= 5:
            write_compact_nullable_string(out, self.protocol_name)
        if version >= 4:
            write_compact_count(out, len(self.assignments))
        else:
            write_count(out, len(self.assignments))
        for assignments_item in self.assignments:
            assignments_item.write(out, version)
        if version >= 4:
            out.append(0)


class SyncGroupResponse(Message):
    KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 4
    throttle_time_ms: int = 0
    error_code: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[SyncGroupResponse, int]:
        if version >= 1:
            throttle_time_ms, error_code = _PACKED_1.unpack_from(buf, at)
            at += 6
        else:
            throttle_time_ms = 0
            (error_code,) = _PACKED_2.unpack_from(buf, at)
            at += 2
        protocol_type: str | None = None
        if version >= 5:
            protocol_type, at = read_compact_nullable_string(buf, at)
        protocol_name: str | None = None
        if version >= 5:
            protocol_name, at = read_compact_nullable_string(buf, at)
        if version >= 4:
            assignment, at = read_compact_bytes(buf, at)
        else:
            assignment, at = read_bytes(buf, at)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return SyncGroupResponse(
            throttle_time_ms,
            error_code,
            protocol_type,
            protocol_name,
            assignment,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            out += _PACKED_1.pack(self.throttle_time_ms, self.error_code)
        else:
            out += _PACKED_2.pack(self.error_code)
        if version >= 5:
            write_compact_nullable_string(out, self.protocol_type)
        if version >= 5:
            write_compact_nullable_string(out, self.protocol_name)
        if version >= 4:
            write_compact_bytes(out, self.assignment)
        else:
            write_bytes(out, self.assignment)
        if version >= 4:
            out.append(0)
