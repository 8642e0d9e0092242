"""Generated from definitions/k44_incremental_alter_configs.txt; do not edit."""

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

_PACKED_0 = Packed(">b")
_PACKED_1 = Packed(">h")
_PACKED_2 = Packed(">?")
_PACKED_3 = Packed(">i")


class AlterableConfig(Struct):
    name: str = ""
    config_operation: int = 0
    value: str | None = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterableConfig, int]:
        if version >= 1:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        (config_operation,) = _PACKED_0.unpack_from(buf, at)
        at += 1
        value_: str | None
        if version >= 1:
            value_, at = read_compact_nullable_string(buf, at)
        else:
            value_, at = read_nullable_string(buf, at)
        if version >= 1:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AlterableConfig(name, config_operation, value_), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            write_compact_string(out, self.name)
        else:
            write_string(out, self.name)
        out += _PACKED_0.pack(self.config_operation)
        if version >= 1:
            write_compact_nullable_string(out, self.value)
        else:
            write_nullable_string(out, self.value)
        if version >= 1:
            out.append(0)


class AlterConfigsResource(Struct):
    resource_type: int = 0
    resource_name: str = ""
    configs: list[AlterableConfig] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterConfigsResource, int]:
        (resource_type,) = _PACKED_0.unpack_from(buf, at)
        at += 1
        if version >= 1:
            resource_name, at = read_compact_string(buf, at)
        else:
            resource_name, at = read_string(buf, at)
        if version >= 1:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 5)
        configs: list[AlterableConfig] = []
        for _ in range(count):
            configs_item, at = AlterableConfig.read(buf, at, version)
            configs.append(configs_item)
        if version >= 1:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AlterConfigsResource(resource_type, resource_name, configs), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.resource_type)
        if version >= 1:
            write_compact_string(out, self.resource_name)
        else:
            write_string(out, self.resource_name)
        if version >= 1:
            write_compact_count(out, len(self.configs))
        else:
            write_count(out, len(self.configs))
        for configs_item in self.configs:
            configs_item.write(out, version)
        if version >= 1:
            out.append(0)


class AlterConfigsResourceResponse(Struct):
    error_code: int = 0
    error_message: str | None = None
    resource_type: int = 0
    resource_name: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterConfigsResourceResponse, int]:
        (error_code,) = _PACKED_1.unpack_from(buf, at)
        at += 2
        error_message: str | None
        if version >= 1:
            error_message, at = read_compact_nullable_string(buf, at)
        else:
            error_message, at = read_nullable_string(buf, at)
        (resource_type,) = _PACKED_0.unpack_from(buf, at)
        at += 1
        if version >= 1:
            resource_name, at = read_compact_string(buf, at)
        else:
            resource_name, at = read_string(buf, at)
        if version >= 1:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AlterConfigsResourceResponse(
            error_code,
            error_message,
            resource_type,
            resource_name,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.error_code)
        if version >= 1:
            write_compact_nullable_string(out, self.error_message)
        else:
            write_nullable_string(out, self.error_message)
        out += _PACKED_0.pack(self.resource_type)
        if version >= 1:
            write_compact_string(out, self.resource_name)
        else:
            write_string(out, self.resource_name)
        if version >= 1:
            out.append(0)


class IncrementalAlterConfigsRequest(Message):
    KEY: ClassVar[int] = 44
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 1
    SHAPE: ClassVar[Shape] = (
        (0, 1, ("list", ((0, 1, 1), (0, 1, "string"), (0, 1, ("list", ((0, 1, "string"), (0, 1, 1), (0, 1, "string"),))),))),
        (0, 1, 1),
    )
    resources: list[AlterConfigsResource] = []
    validate_only: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[IncrementalAlterConfigsRequest, int]:
        if version >= 1:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 7)
        resources: list[AlterConfigsResource] = []
        for _ in range(count):
            resources_item, at = AlterConfigsResource.read(buf, at, version)
            resources.append(resources_item)
        (validate_only,) = _PACKED_2.unpack_from(buf, at)
        at += 1
        if version >= 1:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return IncrementalAlterConfigsRequest(resources, validate_only), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            write_compact_count(out, len(self.resources))
        else:
            write_count(out, len(self.resources))
        for resources_item in self.resources:
            resources_item.write(out, version)
        out += _PACKED_2.pack(self.validate_only)
        if version >= 1:
            out.append(0)


class IncrementalAlterConfigsResponse(Message):
    KEY: ClassVar[int] = 44
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 1
    throttle_time_ms: int = 0
    responses: list[AlterConfigsResourceResponse] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[IncrementalAlterConfigsResponse, int]:
        (throttle_time_ms,) = _PACKED_3.unpack_from(buf, at)
        at += 4
        if version >= 1:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 6)
        else:
            count, at = read_count(buf, at, 7)
        responses: list[AlterConfigsResourceResponse] = []
        for _ in range(count):
            responses_item, at = AlterConfigsResourceResponse.read(buf, at, version)
            responses.append(responses_item)
        if version >= 1:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return IncrementalAlterConfigsResponse(throttle_time_ms, responses), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_3.pack(self.throttle_time_ms)
        if version >= 1:
            write_compact_count(out, len(self.responses))
        else:
            write_count(out, len(self.responses))
        for responses_item in self.responses:
            responses_item.write(out, version)
        if version >= 1:
            out.append(0)
