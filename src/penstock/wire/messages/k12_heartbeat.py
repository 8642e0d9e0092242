"""Generated from definitions/k12_heartbeat.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    absent,
    read_compact_nullable_string,
    read_compact_string,
    read_nullable_string,
    read_string,
    skip_tagged,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">ih")
_PACKED_2 = Packed(">h")


class HeartbeatRequest(Message):
    KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 4
    SHAPE: ClassVar[Shape] = (
        (0, 4, "string"),
        (0, 4, 4),
        (0, 4, "string"),
        (3, 4, "string"),
    )
    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[HeartbeatRequest, int]:
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
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id), at

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
        if version >= 4:
            out.append(0)


class HeartbeatResponse(Message):
    KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 4
    throttle_time_ms: int = 0
    error_code: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[HeartbeatResponse, int]:
        if version >= 1:
            throttle_time_ms, error_code = _PACKED_1.unpack_from(buf, at)
            at += 6
        else:
            throttle_time_ms = 0
            (error_code,) = _PACKED_2.unpack_from(buf, at)
            at += 2
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return HeartbeatResponse(throttle_time_ms, error_code), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            out += _PACKED_1.pack(self.throttle_time_ms, self.error_code)
        else:
            out += _PACKED_2.pack(self.error_code)
        if version >= 4:
            out.append(0)
