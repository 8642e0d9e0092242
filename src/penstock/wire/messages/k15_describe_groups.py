"""Generated from definitions/k15_describe_groups.txt; do not edit."""

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

_PACKED_0 = Packed(">h")
_PACKED_1 = Packed(">i")
_PACKED_2 = Packed(">?")


class DescribedGroupMember(Struct):
    member_id: str = ""
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    member_metadata: bytes = b""
    member_assignment: bytes = b""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribedGroupMember, int]:
        if version >= 5:
            member_id, at = read_compact_string(buf, at)
        else:
            member_id, at = read_string(buf, at)
        group_instance_id: str | None = None
        if version >= 4:
            if version >= 5:
                group_instance_id, at = read_compact_nullable_string(buf, at)
            else:
                group_instance_id, at = read_nullable_string(buf, at)
        if version >= 5:
            client_id, at = read_compact_string(buf, at)
        else:
            client_id, at = read_string(buf, at)
        if version >= 5:
            client_host, at = read_compact_string(buf, at)
        else:
            client_host, at = read_string(buf, at)
        if version >= 5:
            member_metadata, at = read_compact_bytes(buf, at)
        else:
            member_metadata, at = read_bytes(buf, at)
        if version >= 5:
            member_assignment, at = read_compact_bytes(buf, at)
        else:
            member_assignment, at = read_bytes(buf, at)
        if version >= 5:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribedGroupMember(
            member_id,
            group_instance_id,
            client_id,
            client_host,
            member_metadata,
            member_assignment,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 5:
            write_compact_string(out, self.member_id)
        else:
            write_string(out, self.member_id)
        if version >= 4:
            if version >= 5:
                write_compact_nullable_string(out, self.group_instance_id)
            else:
                write_nullable_string(out, self.group_instance_id)
        if version >= 5:
            write_compact_string(out, self.client_id)
        else:
            write_string(out, self.client_id)
        if version >= 5:
            write_compact_string(out, self.client_host)
        else:
            write_string(out, self.client_host)
        if version >= 5:
            write_compact_bytes(out, self.member_metadata)
        else:
            write_bytes(out, self.member_metadata)
        if version >= 5:
            write_compact_bytes(out, self.member_assignment)
        else:
            write_bytes(out, self.member_assignment)
        if version >= 5:
            out.append(0)


class DescribedGroup(Struct):
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: list[DescribedGroupMember] = []
    authorized_operations: int = -2147483648

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribedGroup, int]:
        (error_code,) = _PACKED_0.unpack_from(buf, at)
        at += 2
        error_message: str | None = None
        if version >= 6:
            error_message, at = read_compact_nullable_string(buf, at)
        if version >= 5:
            group_id, at = read_compact_string(buf, at)
        else:
            group_id, at = read_string(buf, at)
        if version >= 5:
            group_state, at = read_compact_string(buf, at)
        else:
            group_state, at = read_string(buf, at)
        if version >= 5:
            protocol_type, at = read_compact_string(buf, at)
        else:
            protocol_type, at = read_string(buf, at)
        if version >= 5:
            protocol_data, at = read_compact_string(buf, at)
        else:
            protocol_data, at = read_string(buf, at)
        if version >= 5:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 7)
        else:
            count, at = read_count(buf, at, 14)
        members: list[DescribedGroupMember] = []
        for _ in range(count):
            members_item, at = DescribedGroupMember.read(buf, at, version)
            members.append(members_item)
        authorized_operations: int = -2147483648
        if version >= 3:
            (authorized_operations,) = _PACKED_1.unpack_from(buf, at)
            at += 4
        if version >= 5:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribedGroup(
            error_code,
            error_message,
            group_id,
            group_state,
            protocol_type,
            protocol_data,
            members,
            authorized_operations,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.error_code)
        if version >= 6:
            write_compact_nullable_string(out, self.error_message)
        if version >= 5:
            write_compact_string(out, self.group_id)
        else:
            write_string(out, self.group_id)
        if version >= 5:
            write_compact_string(out, self.group_state)
        else:
            write_string(out, self.group_state)
        if version >= 5:
            write_compact_string(out, self.protocol_type)
        else:
            write_string(out, self.protocol_type)
        if version >= 5:
            write_compact_string(out, self.protocol_data)
        else:
            write_string(out, self.protocol_data)
        if version >= 5:
            write_compact_count(out, len(self.members))
        else:
            write_count(out, len(self.members))
        for members_item in self.members:
            members_item.write(out, version)
        if version >= 3:
            out += _PACKED_1.pack(self.authorized_operations)
        if version >= 5:
            out.append(0)


class DescribeGroupsRequest(Message):
    KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int] = 5
    SHAPE: ClassVar[Shape] = (
        (0, 6, ("list", "string")),
        (3, 6, 1),
    )
    groups: list[str] = []
    include_authorized_operations: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeGroupsRequest, int]:
        if version >= 5:
            count, at = read_compact_count(buf, at, 1)
        else:
            count, at = read_count(buf, at, 2)
        groups: list[str] = []
        for _ in range(count):
            if version >= 5:
                groups_item, at = read_compact_string(buf, at)
            else:
                groups_item, at = read_string(buf, at)
            groups.append(groups_item)
        include_authorized_operations: bool = False
        if version >= 3:
            (include_authorized_operations,) = _PACKED_2.unpack_from(buf, at)
            at += 1
        if version >= 5:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeGroupsRequest(groups, include_authorized_operations), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 5:
            write_compact_count(out, len(self.groups))
        else:
            write_count(out, len(self.groups))
        for groups_item in self.groups:
            if version >= 5:
                write_compact_string(out, groups_item)
            else:
                write_string(out, groups_item)
        if version >= 3:
            out += _PACKED_2.pack(self.include_authorized_operations)
        elif self.include_authorized_operations:
            raise absent(version, "include_authorized_operations")
        if version >= 5:
            out.append(0)


class DescribeGroupsResponse(Message):
    KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int] = 5
    throttle_time_ms: int = 0
    groups: list[DescribedGroup] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeGroupsResponse, int]:
        throttle_time_ms: int = 0
        if version >= 1:
            (throttle_time_ms,) = _PACKED_1.unpack_from(buf, at)
            at += 4
        if version >= 5:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 12)
        else:
            count, at = read_count(buf, at, 14)
        groups: list[DescribedGroup] = []
        for _ in range(count):
            groups_item, at = DescribedGroup.read(buf, at, version)
            groups.append(groups_item)
        if version >= 5:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeGroupsResponse(throttle_time_ms, groups), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            out += _PACKED_1.pack(self.throttle_time_ms)
        if version >= 5:
            write_compact_count(out, len(self.groups))
        else:
            write_count(out, len(self.groups))
        for groups_item in self.groups:
            groups_item.write(out, version)
        if version >= 5:
            out.append(0)
