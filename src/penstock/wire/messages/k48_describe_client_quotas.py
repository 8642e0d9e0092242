"""Generated from definitions/k48_describe_client_quotas.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_nullable_count,
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
_PACKED_1 = Packed(">d")
_PACKED_2 = Packed(">?")
_PACKED_3 = Packed(">ih")


class ComponentData(Struct):
    entity_type: str = ""
    match_type: int = 0
    match: str | None = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ComponentData, int]:
        if version >= 1:
            entity_type, at = read_compact_string(buf, at)
        else:
            entity_type, at = read_string(buf, at)
        (match_type,) = _PACKED_0.unpack_from(buf, at)
        at += 1
        match: str | None
        if version >= 1:
            match, at = read_compact_nullable_string(buf, at)
        else:
            match, at = read_nullable_string(buf, at)
        if version >= 1:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return ComponentData(entity_type, match_type, match), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            write_compact_string(out, self.entity_type)
        else:
            write_string(out, self.entity_type)
        out += _PACKED_0.pack(self.match_type)
        if version >= 1:
            write_compact_nullable_string(out, self.match)
        else:
            write_nullable_string(out, self.match)
        if version >= 1:
            out.append(0)


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


class ValueData(Struct):
    key: str = ""
    value: float = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ValueData, int]:
        if version >= 1:
            key, at = read_compact_string(buf, at)
        else:
            key, at = read_string(buf, at)
        (value_,) = _PACKED_1.unpack_from(buf, at)
        at += 8
        if version >= 1:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return ValueData(key, value_), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            write_compact_string(out, self.key)
        else:
            write_string(out, self.key)
        out += _PACKED_1.pack(self.value)
        if version >= 1:
            out.append(0)


class EntryData(Struct):
    entity: list[EntityData] = []
    values: list[ValueData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[EntryData, int]:
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
                count, at = read_compact_count(buf, at, 10)
        else:
            count, at = read_count(buf, at, 10)
        values: list[ValueData] = []
        for _ in range(count):
            values_item, at = ValueData.read(buf, at, version)
            values.append(values_item)
        if version >= 1:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return EntryData(entity, values), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            write_compact_count(out, len(self.entity))
        else:
            write_count(out, len(self.entity))
        for entity_item in self.entity:
            entity_item.write(out, version)
        if version >= 1:
            write_compact_count(out, len(self.values))
        else:
            write_count(out, len(self.values))
        for values_item in self.values:
            values_item.write(out, version)
        if version >= 1:
            out.append(0)


class DescribeClientQuotasRequest(Message):
    KEY: ClassVar[int] = 48
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 1
    SHAPE: ClassVar[Shape] = (
        (0, 1, ("list", ((0, 1, "string"), (0, 1, 1), (0, 1, "string"),))),
        (0, 1, 1),
    )
    components: list[ComponentData] = []
    strict: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeClientQuotasRequest, int]:
        if version >= 1:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 5)
        components: list[ComponentData] = []
        for _ in range(count):
            components_item, at = ComponentData.read(buf, at, version)
            components.append(components_item)
        (strict,) = _PACKED_2.unpack_from(buf, at)
        at += 1
        if version >= 1:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeClientQuotasRequest(components, strict), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            write_compact_count(out, len(self.components))
        else:
            write_count(out, len(self.components))
        for components_item in self.components:
            components_item.write(out, version)
        out += _PACKED_2.pack(self.strict)
        if version >= 1:
            out.append(0)


class DescribeClientQuotasResponse(Message):
    KEY: ClassVar[int] = 48
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 1
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    entries: list[EntryData] | None = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeClientQuotasResponse, int]:
        throttle_time_ms, error_code = _PACKED_3.unpack_from(buf, at)
        at += 6
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
                count, at = read_compact_nullable_count(buf, at, 3)
        else:
            count, at = read_nullable_count(buf, at, 8)
        entries: list[EntryData] | None = None
        if count >= 0:
            entries = []
            for _ in range(count):
                entries_item, at = EntryData.read(buf, at, version)
                entries.append(entries_item)
        if version >= 1:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeClientQuotasResponse(
            throttle_time_ms,
            error_code,
            error_message,
            entries,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_3.pack(self.throttle_time_ms, self.error_code)
        if version >= 1:
            write_compact_nullable_string(out, self.error_message)
        else:
            write_nullable_string(out, self.error_message)
        if version >= 1:
            write_compact_count(out, -1 if self.entries is None else len(self.entries))
        else:
            write_count(out, -1 if self.entries is None else len(self.entries))
        for entries_item in self.entries or ():
            entries_item.write(out, version)
        if version >= 1:
            out.append(0)
