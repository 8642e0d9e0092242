"""Generated from definitions/k74_list_config_resources.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    absent,
    read_compact_count,
    read_compact_string,
    read_numbers,
    skip_tagged,
    write_compact_count,
    write_compact_string,
)

_PACKED_0 = Packed(">b")
_PACKED_1 = Packed(">ih")


class ConfigResource(Struct):
    resource_name: str = ""
    resource_type: int = 16

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ConfigResource, int]:
        resource_name, at = read_compact_string(buf, at)
        resource_type: int = 16
        if version >= 1:
            (resource_type,) = _PACKED_0.unpack_from(buf, at)
            at += 1
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ConfigResource(resource_name, resource_type), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.resource_name)
        if version >= 1:
            out += _PACKED_0.pack(self.resource_type)
        out.append(0)


class ListConfigResourcesRequest(Message):
    KEY: ClassVar[int] = 74
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (1, 1, ("list", 1)),
    )
    resource_types: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ListConfigResourcesRequest, int]:
        resource_types: list[int] = []
        if version >= 1:
            count, at = read_compact_count(buf, at, 1)
            resource_types, at = read_numbers(buf, at, count, "b", 1)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ListConfigResourcesRequest(resource_types), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            write_compact_count(out, len(self.resource_types))
            for resource_types_item in self.resource_types:
                out += _PACKED_0.pack(resource_types_item)
        elif self.resource_types:
            raise absent(version, "resource_types")
        out.append(0)


class ListConfigResourcesResponse(Message):
    KEY: ClassVar[int] = 74
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    error_code: int = 0
    config_resources: list[ConfigResource] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ListConfigResourcesResponse, int]:
        throttle_time_ms, error_code = _PACKED_1.unpack_from(buf, at)
        at += 6
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 2)
        config_resources: list[ConfigResource] = []
        for _ in range(count):
            config_resources_item, at = ConfigResource.read(buf, at, version)
            config_resources.append(config_resources_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ListConfigResourcesResponse(throttle_time_ms, error_code, config_resources), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.throttle_time_ms, self.error_code)
        write_compact_count(out, len(self.config_resources))
        for config_resources_item in self.config_resources:
            config_resources_item.write(out, version)
        out.append(0)
