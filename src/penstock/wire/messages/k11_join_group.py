"""Generated from definitions/k11_join_group.txt; do not edit."""

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
    required,
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

_PACKED_0 = Packed(">ii")
_PACKED_1 = Packed(">i")
_PACKED_2 = Packed(">ihi")
_PACKED_3 = Packed(">hi")
_PACKED_4 = Packed(">?")


class JoinGroupRequestProtocol(Struct):
    name: str = ""
    metadata: bytes = b""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[JoinGroupRequestProtocol, int]:
        if version >= 6:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        if version >= 6:
            metadata, at = read_compact_bytes(buf, at)
        else:
            metadata, at = read_bytes(buf, at)
        if version >= 6:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return JoinGroupRequestProtocol(name, metadata), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 6:
            write_compact_string(out, self.name)
        else:
            write_string(out, self.name)
        if version >= 6:
            write_compact_bytes(out, self.metadata)
        else:
            write_bytes(out, self.metadata)
        if version >= 6:
            out.append(0)


class JoinGroupResponseMember(Struct):
    member_id: str = ""
    group_instance_id: str | None = None
    metadata: bytes = b""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[JoinGroupResponseMember, int]:
        if version >= 6:
            member_id, at = read_compact_string(buf, at)
        else:
            member_id, at = read_string(buf, at)
        group_instance_id: str | None = None
        if version >= 5:
            if version >= 6:
                group_instance_id, at = read_compact_nullable_string(buf, at)
            else:
                group_instance_id, at = read_nullable_string(buf, at)
        if version >= 6:
            metadata, at = read_compact_bytes(buf, at)
        else:
            metadata, at = read_bytes(buf, at)
        if version >= 6:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return JoinGroupResponseMember(member_id, group_instance_id, metadata), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 6:
            write_compact_string(out, self.member_id)
        else:
            write_string(out, self.member_id)
        if version >= 5:
            if version >= 6:
                write_compact_nullable_string(out, self.group_instance_id)
            else:
                write_nullable_string(out, self.group_instance_id)
        if version >= 6:
            write_compact_bytes(out, self.metadata)
        else:
            write_bytes(out, self.metadata)
        if version >= 6:
            out.append(0)


class JoinGroupRequest(Message):
    KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    FLEXIBLE_SINCE: ClassVar[int] = 6
    SHAPE: ClassVar[Shape] = (
        (0, 9, "string"),
        (0, 9, 4),
        (1, 9, 4),
        (0, 9, "string"),
        (5, 9, "string"),
        (0, 9, "string"),
        (0, 9, ("list", ((0, 9, "string"), (0, 9, "bytes"),))),
        (8, 9, "string"),
    )
    group_id: str = ""
    session_timeout_ms: int = 0
    rebalance_timeout_ms: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    protocol_type: str = ""
    protocols: list[JoinGroupRequestProtocol] = []
    reason: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[JoinGroupRequest, int]:
        if version >= 6:
            group_id, at = read_compact_string(buf, at)
        else:
            group_id, at = read_string(buf, at)
        if version >= 1:
            session_timeout_ms, rebalance_timeout_ms = _PACKED_0.unpack_from(buf, at)
            at += 8
        else:
            (session_timeout_ms,) = _PACKED_1.unpack_from(buf, at)
            at += 4
            rebalance_timeout_ms = -1
        if version >= 6:
            member_id, at = read_compact_string(buf, at)
        else:
            member_id, at = read_string(buf, at)
        group_instance_id: str | None = None
        if version >= 5:
            if version >= 6:
                group_instance_id, at = read_compact_nullable_string(buf, at)
            else:
                group_instance_id, at = read_nullable_string(buf, at)
        if version >= 6:
            protocol_type, at = read_compact_string(buf, at)
        else:
            protocol_type, at = read_string(buf, at)
        if version >= 6:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        protocols: list[JoinGroupRequestProtocol] = []
        for _ in range(count):
            protocols_item, at = JoinGroupRequestProtocol.read(buf, at, version)
            protocols.append(protocols_item)
        reason: str | None = None
        if version >= 8:
            reason, at = read_compact_nullable_string(buf, at)
        if version >= 6:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return JoinGroupRequest(
            group_id,
            session_timeout_ms,
            rebalance_timeout_ms,
            member_id,
            group_instance_id,
            protocol_type,
            protocols,
            reason,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 6:
            write_compact_string(out, self.group_id)
        else:
            write_string(out, self.group_id)
        if version >= 1:
            out += _PACKED_0.pack(self.session_timeout_ms, self.rebalance_timeout_ms)
        else:
            out += _PACKED_1.pack(self.session_timeout_ms)
        if version >= 6:
            write_compact_string(out, self.member_id)
        else:
            write_string(out, self.member_id)
        if version >= 5:
            if version >= 6:
                write_compact_nullable_string(out, self.group_instance_id)
            else:
                write_nullable_string(out, self.group_instance_id)
        elif self.group_instance_id is not None:
            raise absent(version, "group_instance_id")
        if version >= 6:
            write_compact_string(out, self.protocol_type)
        else:
            write_string(out, self.protocol_type)
        if version >= 6:
            write_compact_count(out, len(self.protocols))
        else:
            write_count(out, len(self.protocols))
        for protocols_item in self.protocols:
            protocols_item.write(out, version)
        if version >= 8:
            write_compact_nullable_string(out, self.reason)
        if version >= 6:
            out.append(0)


class JoinGroupResponse(Message):
    KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    FLEXIBLE_SINCE: ClassVar[int] = 6
    throttle_time_ms: int = 0
    error_code: int = 0
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = ""
    leader: str = ""
    skip_assignment: bool = False
    member_id: str = ""
    members: list[JoinGroupResponseMember] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[JoinGroupResponse, int]:
        if version >= 2:
            throttle_time_ms, error_code, generation_id = _PACKED_2.unpack_from(buf, at)
            at += 10
        else:
            throttle_time_ms = 0
            error_code, generation_id = _PACKED_3.unpack_from(buf, at)
            at += 6
        protocol_type: str | None = None
        if version >= 7:
            protocol_type, at = read_compact_nullable_string(buf, at)
        protocol_name: str | None
        if version >= 7:
            protocol_name, at = read_compact_nullable_string(buf, at)
        elif version >= 6:
            protocol_name, at = read_compact_string(buf, at)
        else:
            protocol_name, at = read_string(buf, at)
        if version >= 6:
            leader, at = read_compact_string(buf, at)
        else:
            leader, at = read_string(buf, at)
        skip_assignment: bool = False
        if version >= 9:
            (skip_assignment,) = _PACKED_4.unpack_from(buf, at)
            at += 1
        if version >= 6:
            member_id, at = read_compact_string(buf, at)
        else:
            member_id, at = read_string(buf, at)
        if version >= 6:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 6)
        members: list[JoinGroupResponseMember] = []
        for _ in range(count):
            members_item, at = JoinGroupResponseMember.read(buf, at, version)
            members.append(members_item)
        if version >= 6:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return JoinGroupResponse(
            throttle_time_ms,
            error_code,
            generation_id,
            protocol_type,
            protocol_name,
            leader,
            skip_assignment,
            member_id,
            members,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            out += _PACKED_2.pack(self.throttle_time_ms, self.error_code, self.generation_id)
        else:
            out += _PACKED_3.pack(self.error_code, self.generation_id)
        if version >= 7:
            write_compact_nullable_string(out, self.protocol_type)
        if version >= 7:
            write_compact_nullable_string(out, self.protocol_name)
        elif version >= 6:
            write_compact_string(out, required(self.protocol_name, version, "protocol_name"))
        else:
            write_string(out, required(self.protocol_name, version, "protocol_name"))
        if version >= 6:
            write_compact_string(out, self.leader)
        else:
            write_string(out, self.leader)
        if version >= 9:
            out += _PACKED_4.pack(self.skip_assignment)
        if version >= 6:
            write_compact_string(out, self.member_id)
        else:
            write_string(out, self.member_id)
        if version >= 6:
            write_compact_count(out, len(self.members))
        else:
            write_count(out, len(self.members))
        for members_item in self.members:
            members_item.write(out, version)
        if version >= 6:
            out.append(0)
