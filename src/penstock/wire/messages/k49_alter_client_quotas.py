"""Generated from definitions/k49_alter_client_quotas.txt; do not edit."""

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

_PACKED_0 = Packed(">d?")
_PACKED_1 = Packed(">h")
_PACKED_2 = Packed(">?")
_PACKED_3 = Packed(">i")


class EntityData(Struct):
    entity_type: str = ""
    entity_name: str | None = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[EntityData, int]:
        if version >= 1:
            entity_type, at = read_compact_string(buf, at)
        else:
            entity_type, at = read_string(buf, at)
        entity_name: str | None
        if version >= 1:
            entity_name, at = read_compact_nullable_string(buf, at)
        else:
            entity_name, at = read_nullable_string(buf, at)
        if version >= 1:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return EntityData(entity_type, entity_name), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            write_compact_string(out, self.entity_type)
        else:
            write_string(out, self.entity_type)
        if version >= 1:
            write_compact_nullable_string(out, self.entity_name)
        else:
            write_nullable_string(out, self.entity_name)
        if version >= 1:
            out.append(0)


class OpData(Struct):
    key: str = ""
    value: float = 0
    remove: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OpData, int]:
        if version >= 1:
            key, at = read_compact_string(buf, at)
        else:
            key, at = read_string(buf, at)
        value_, remove = _PACKED_0.unpack_from(buf, at)
        at += 9
        if version >= 1:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return OpData(key, value_, remove), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            write_compact_string(out, self.key)
        else:
            write_string(out, self.key)
        out += _PACKED_0.pack(self.value, self.remove)
        if version >= 1:
            out.append(0)


class RequestEntryData(Struct):
    entity: list[EntityData] = []
    ops: list[OpData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[RequestEntryData, int]:
        if version >= 1:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 4)
        entity: list[EntityData] = []
        for _ in range(count):
            entity_item, at = EntityData.read(buf, at, version)
            entity.append(entity_item)
        if version >= 1:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 11)
        else:
            count, at = read_count(buf, at, 11)
        ops: list[OpData] = []
        for _ in range(count):
            ops_item, at = OpData.read(buf, at, version)
            ops.append(ops_item)
        if version >= 1:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return RequestEntryData(entity, ops), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            write_compact_count(out, len(self.entity))
        else:
            write_count(out, len(self.entity))
        for entity_item in self.entity:
            entity_item.write(out, version)
        if version >= 1:
            write_compact_count(out, len(self.ops))
        else:
            write_count(out, len(self.ops))
        for ops_item in self.ops:
            ops_item.write(out, version)
        if version >= 1:
            out.append(0)


class ResponseEntryData(Struct):
    error_code: int = 0
    error_message: str | None = None
    entity: list[EntityData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ResponseEntryData, int]:
        (error_code,) = _PACKED_1.unpack_from(buf, at)
        at += 2
        error_message: str | None
        if version >= 1:
            error_message, at = read_compact_nullable_string(buf, at)
        else:
            error_message, at = read_nullable_string(buf, at)
        if version >= 1:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 4)
        entity: list[EntityData] = []
        for _ in range(count):
            entity_item, at = EntityData.read(buf, at, version)
            entity.append(entity_item)
        if version >= 1:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return ResponseEntryData(error_code, error_message, entity), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.error_code)
        if version >= 1:
            write_compact_nullable_string(out, self.error_message)
        else:
            write_nullable_string(out, self.error_message)
        if version >= 1:
            write_compact_count(out, len(self.entity))
        else:
            write_count(out, len(self.entity))
        for entity_item in self.entity:
            entity_item.write(out, version)
        if version >= 1:
            out.append(0)


class AlterClientQuotasRequest(Message):
    KEY: ClassVar[int] = 49
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 1
    SHAPE: ClassVar[Shape] = (
        (0, 1, ("list", ((0, 1, ("list", ((0, 1, "string"), (0, 1, "string"),))), (0, 1, ("list", ((0, 1, "string"), (0, 1, 9),))),))),
        (0, 1, 1),
    )
    entries: list[RequestEntryData] = []
    validate_only: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterClientQuotasRequest, int]:
        if version >= 1:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 8)
        entries: list[RequestEntryData] = []
        for _ in range(count):
            entries_item, at = RequestEntryData.read(buf, at, version)
            entries.append(entries_item)
        (validate_only,) = _PACKED_2.unpack_from(buf, at)
        at += 1
        if version >= 1:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AlterClientQuotasRequest(entries, validate_only), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            write_compact_count(out, len(self.entries))
        else:
            write_count(out, len(self.entries))
        for entries_item in self.entries:
            entries_item.write(out, version)
        out += _PACKED_2.pack(self.validate_only)
        if version >= 1:
            out.append(0)


class AlterClientQuotasResponse(Message):
    KEY: ClassVar[int] = 49
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 1
    throttle_time_ms: int = 0
    entries: list[ResponseEntryData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterClientQuotasResponse, int]:
        (throttle_time_ms,) = _PACKED_3.unpack_from(buf, at)
        at += 4
        if version >= 1:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 5)
        else:
            count, at = read_count(buf, at, 8)
        entries: list[ResponseEntryData] = []
        for _ in range(count):
            entries_item, at = ResponseEntryData.read(buf, at, version)
            entries.append(entries_item)
        if version >= 1:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AlterClientQuotasResponse(throttle_time_ms, entries), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_3.pack(self.throttle_time_ms)
        if version >= 1:
            write_compact_count(out, len(self.entries))
        else:
            write_count(out, len(self.entries))
        for entries_item in self.entries:
            entries_item.write(out, version)
        if version >= 1:
            out.append(0)
