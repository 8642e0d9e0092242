"""Generated from definitions/stored/group_metadata.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.primitives import (
    Sink,
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
from penstock.wire.stored_codec import StoredKey, Versioned

_PACKED_0 = Packed(">ii")
_PACKED_1 = Packed(">i")
_PACKED_2 = Packed(">q")


class MemberMetadata(Struct):
    member_id: str = ""
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout: int = 0
    session_timeout: int = 0
    subscription: bytes = b""
    assignment: bytes = b""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[MemberMetadata, int]:
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
        if version >= 4:
            client_id, at = read_compact_string(buf, at)
        else:
            client_id, at = read_string(buf, at)
        if version >= 4:
            client_host, at = read_compact_string(buf, at)
        else:
            client_host, at = read_string(buf, at)
        if version >= 1:
            rebalance_timeout, session_timeout = _PACKED_0.unpack_from(buf, at)
            at += 8
        else:
            rebalance_timeout = 0
            (session_timeout,) = _PACKED_1.unpack_from(buf, at)
            at += 4
        if version >= 4:
            subscription, at = read_compact_bytes(buf, at)
        else:
            subscription, at = read_bytes(buf, at)
        if version >= 4:
            assignment, at = read_compact_bytes(buf, at)
        else:
            assignment, at = read_bytes(buf, at)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return MemberMetadata(
            member_id,
            group_instance_id,
            client_id,
            client_host,
            rebalance_timeout,
            session_timeout,
            subscription,
            assignment,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 4:
            write_compact_string(out, self.member_id)
        else:
            write_string(out, self.member_id)
        if version >= 3:
            if version >= 4:
                write_compact_nullable_string(out, self.group_instance_id)
            else:
                write_nullable_string(out, self.group_instance_id)
        if version >= 4:
            write_compact_string(out, self.client_id)
        else:
            write_string(out, self.client_id)
        if version >= 4:
            write_compact_string(out, self.client_host)
        else:
            write_string(out, self.client_host)
        if version >= 1:
            out += _PACKED_0.pack(self.rebalance_timeout, self.session_timeout)
        else:
            out += _PACKED_1.pack(self.session_timeout)
        if version >= 4:
            write_compact_bytes(out, self.subscription)
        else:
            write_bytes(out, self.subscription)
        if version >= 4:
            write_compact_bytes(out, self.assignment)
        else:
            write_bytes(out, self.assignment)
        if version >= 4:
            out.append(0)


class GroupMetadataValue(Versioned):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    protocol_type: str = ""
    generation: int = 0
    protocol: str | None = ""
    leader: str | None = ""
    current_state_timestamp: int = -1
    members: list[MemberMetadata] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[GroupMetadataValue, int]:
        if version >= 4:
            protocol_type, at = read_compact_string(buf, at)
        else:
            protocol_type, at = read_string(buf, at)
        (generation,) = _PACKED_1.unpack_from(buf, at)
        at += 4
        protocol: str | None
        if version >= 4:
            protocol, at = read_compact_nullable_string(buf, at)
        else:
            protocol, at = read_nullable_string(buf, at)
        leader: str | None
        if version >= 4:
            leader, at = read_compact_nullable_string(buf, at)
        else:
            leader, at = read_nullable_string(buf, at)
        current_state_timestamp: int = -1
        if version >= 2:
            (current_state_timestamp,) = _PACKED_2.unpack_from(buf, at)
            at += 8
        if version >= 4:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 15)
        else:
            count, at = read_count(buf, at, 18)
        members: list[MemberMetadata] = []
        for _ in range(count):
            members_item, at = MemberMetadata.read(buf, at, version)
            members.append(members_item)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return GroupMetadataValue(
            protocol_type,
            generation,
            protocol,
            leader,
            current_state_timestamp,
            members,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 4:
            write_compact_string(out, self.protocol_type)
        else:
            write_string(out, self.protocol_type)
        out += _PACKED_1.pack(self.generation)
        if version >= 4:
            write_compact_nullable_string(out, self.protocol)
        else:
            write_nullable_string(out, self.protocol)
        if version >= 4:
            write_compact_nullable_string(out, self.leader)
        else:
            write_nullable_string(out, self.leader)
        if version >= 2:
            out += _PACKED_2.pack(self.current_state_timestamp)
        if version >= 4:
            write_compact_count(out, len(self.members))
        else:
            write_count(out, len(self.members))
        for members_item in self.members:
            members_item.write(out, version)
        if version >= 4:
            out.append(0)


class GroupMetadataKey(StoredKey):
    TYPE: ClassVar[int] = 2
    VALUE: ClassVar[type[GroupMetadataValue]] = GroupMetadataValue
    group: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[GroupMetadataKey, int]:
        group, at = read_string(buf, at)
        return GroupMetadataKey(group), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.group)
