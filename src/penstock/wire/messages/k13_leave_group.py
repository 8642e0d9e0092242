"""Generated from definitions/k13_leave_group.txt; do not edit."""

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

_PACKED_0 = Packed(">h")
_PACKED_1 = Packed(">ih")


class MemberIdentity(Struct):
    member_id: str = ""
    group_instance_id: str | None = None
    reason: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[MemberIdentity, int]:
        if version >= 4:
            member_id, at = read_compact_string(buf, at)
        else:
            member_id, at = read_string(buf, at)
        group_instance_id: str | None
        if version >= 4:
            group_instance_id, at = read_compact_nullable_string(buf, at)
        else:
            group_instance_id, at = read_nullable_string(buf, at)
        reason: str | None = None
        if version >= 5:
            reason, at = read_compact_nullable_string(buf, at)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return MemberIdentity(member_id, group_instance_id, reason), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 4:
            write_compact_string(out, self.member_id)
        else:
            write_string(out, self.member_id)
        if version >= 4:
            write_compact_nullable_string(out, self.group_instance_id)
        else:
            write_nullable_string(out, self.group_instance_id)
        if version >= 5:
            write_compact_nullable_string(out, self.reason)
        if version >= 4:
            out.append(0)


class MemberResponse(Struct):
    member_id: str = ""
    group_instance_id: str | None = ""
    error_code: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[MemberResponse, int]:
        if version >= 4:
            member_id, at = read_compact_string(buf, at)
        else:
            member_id, at = read_string(buf, at)
        group_instance_id: str | None
        if version >= 4:
            group_instance_id, at = read_compact_nullable_string(buf, at)
        else:
            group_instance_id, at = read_nullable_string(buf, at)
        (error_code,) = _PACKED_0.unpack_from(buf, at)
        at += 2
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return MemberResponse(member_id, group_instance_id, error_code), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 4:
            write_compact_string(out, self.member_id)
        else:
            write_string(out, self.member_id)
        if version >= 4:
            write_compact_nullable_string(out, self.group_instance_id)
        else:
            write_nullable_string(out, self.group_instance_id)
        out += _PACKED_0.pack(self.error_code)
        if version >= 4:
            out.append(0)


class LeaveGroupRequest(Message):
    KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 4
    SHAPE: ClassVar[Shape] = (
        (0, 5, "string"),
        (0, 2, "string"),
        (3, 5, ("list", ((3, 5, "string"), (3, 5, "string"), (5, 5, "string"),))),
    )
    group_id: str = ""
    member_id: str = ""
    members: list[MemberIdentity] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[LeaveGroupRequest, int]:
        if version >= 4:
            group_id, at = read_compact_string(buf, at)
        else:
            group_id, at = read_string(buf, at)
        member_id: str = ""
        if version <= 2:
            member_id, at = read_string(buf, at)
        members: list[MemberIdentity] = []
        if version >= 3:
            if version >= 4:
                count = buf[at] - 1
                if 0 <= count < 0x7F:
                    at += 1
                else:
                    count, at = read_compact_count(buf, at, 3)
            else:
                count, at = read_count(buf, at, 4)
            members = []
            for _ in range(count):
                members_item, at = MemberIdentity.read(buf, at, version)
                members.append(members_item)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return LeaveGroupRequest(group_id, member_id, members), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 4:
            write_compact_string(out, self.group_id)
        else:
            write_string(out, self.group_id)
        if version <= 2:
            write_string(out, self.member_id)
        elif self.member_id != "":
            raise absent(version, "member_id")
        if version >= 3:
            if version >= 4:
                write_compact_count(out, len(self.members))
            else:
                write_count(out, len(self.members))
            for members_item in self.members:
                members_item.write(out, version)
        elif self.members:
            raise absent(version, "members")
        if version >= 4:
            out.append(0)


class LeaveGroupResponse(Message):
    KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 4
    throttle_time_ms: int = 0
    error_code: int = 0
    members: list[MemberResponse] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[LeaveGroupResponse, int]:
        if version >= 1:
            throttle_time_ms, error_code = _PACKED_1.unpack_from(buf, at)
            at += 6
        else:
            throttle_time_ms = 0
            (error_code,) = _PACKED_0.unpack_from(buf, at)
            at += 2
        members: list[MemberResponse] = []
        if version >= 3:
            if version >= 4:
                count = buf[at] - 1
                if 0 <= count < 0x7F:
                    at += 1
                else:
                    count, at = read_compact_count(buf, at, 5)
            else:
                count, at = read_count(buf, at, 6)
            members = []
            for _ in range(count):
                members_item, at = MemberResponse.read(buf, at, version)
                members.append(members_item)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return LeaveGroupResponse(throttle_time_ms, error_code, members), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            out += _PACKED_1.pack(self.throttle_time_ms, self.error_code)
        else:
            out += _PACKED_0.pack(self.error_code)
        if version >= 3:
            if version >= 4:
                write_compact_count(out, len(self.members))
            else:
                write_count(out, len(self.members))
            for members_item in self.members:
                members_item.write(out, version)
        if version >= 4:
            out.append(0)
