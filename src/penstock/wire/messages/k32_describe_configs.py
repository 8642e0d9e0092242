"""Generated from definitions/k32_describe_configs.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    absent,
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
_PACKED_1 = Packed(">?b?")
_PACKED_2 = Packed(">h")
_PACKED_3 = Packed(">??")
_PACKED_4 = Packed(">?")
_PACKED_5 = Packed(">i")


class DescribeConfigsResource(Struct):
    resource_type: int = 0
    resource_name: str = ""
    configuration_keys: list[str] | None = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeConfigsResource, int]:
        (resource_type,) = _PACKED_0.unpack_from(buf, at)
        at += 1
        if version >= 4:
            resource_name, at = read_compact_string(buf, at)
        else:
            resource_name, at = read_string(buf, at)
        if version >= 4:
            count, at = read_compact_nullable_count(buf, at, 1)
        else:
            count, at = read_nullable_count(buf, at, 2)
        configuration_keys: list[str] | None = None
        if count >= 0:
            configuration_keys = []
            for _ in range(count):
                if version >= 4:
                    configuration_keys_item, at = read_compact_string(buf, at)
                else:
                    configuration_keys_item, at = read_string(buf, at)
                configuration_keys.append(configuration_keys_item)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeConfigsResource(resource_type, resource_name, configuration_keys), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.resource_type)
        if version >= 4:
            write_compact_string(out, self.resource_name)
        else:
            write_string(out, self.resource_name)
        if version >= 4:
            write_compact_count(out, -1 if self.configuration_keys is None else len(self.configuration_keys))
        else:
            write_count(out, -1 if self.configuration_keys is None else len(self.configuration_keys))
        for configuration_keys_item in self.configuration_keys or ():
            if version >= 4:
                write_compact_string(out, configuration_keys_item)
            else:
                write_string(out, configuration_keys_item)
        if version >= 4:
            out.append(0)


class DescribeConfigsSynonym(Struct):
    name: str = ""
    value: str | None = ""
    source: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeConfigsSynonym, int]:
        if version >= 4:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        value_: str | None
        if version >= 4:
            value_, at = read_compact_nullable_string(buf, at)
        else:
            value_, at = read_nullable_string(buf, at)
        (source,) = _PACKED_0.unpack_from(buf, at)
        at += 1
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeConfigsSynonym(name, value_, source), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 4:
            write_compact_string(out, self.name)
        else:
            write_string(out, self.name)
        if version >= 4:
            write_compact_nullable_string(out, self.value)
        else:
            write_nullable_string(out, self.value)
        out += _PACKED_0.pack(self.source)
        if version >= 4:
            out.append(0)


class DescribeConfigsResourceResult(Struct):
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: int = -1
    is_sensitive: bool = False
    synonyms: list[DescribeConfigsSynonym] = []
    config_type: int = 0
    documentation: str | None = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeConfigsResourceResult, int]:
        if version >= 4:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        value_: str | None
        if version >= 4:
            value_, at = read_compact_nullable_string(buf, at)
        else:
            value_, at = read_nullable_string(buf, at)
        read_only, config_source, is_sensitive = _PACKED_1.unpack_from(buf, at)
        at += 3
        if version >= 4:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 5)
        synonyms: list[DescribeConfigsSynonym] = []
        for _ in range(count):
            synonyms_item, at = DescribeConfigsSynonym.read(buf, at, version)
            synonyms.append(synonyms_item)
        config_type: int = 0
        if version >= 3:
            (config_type,) = _PACKED_0.unpack_from(buf, at)
            at += 1
        documentation: str | None = ""
        if version >= 3:
            if version >= 4:
                documentation, at = read_compact_nullable_string(buf, at)
            else:
                documentation, at = read_nullable_string(buf, at)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeConfigsResourceResult(
            name,
            value_,
            read_only,
            config_source,
            is_sensitive,
            synonyms,
            config_type,
            documentation,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 4:
            write_compact_string(out, self.name)
        else:
            write_string(out, self.name)
        if version >= 4:
            write_compact_nullable_string(out, self.value)
        else:
            write_nullable_string(out, self.value)
        out += _PACKED_1.pack(self.read_only, self.config_source, self.is_sensitive)
        if version >= 4:
            write_compact_count(out, len(self.synonyms))
        else:
            write_count(out, len(self.synonyms))
        for synonyms_item in self.synonyms:
            synonyms_item.write(out, version)
        if version >= 3:
            out += _PACKED_0.pack(self.config_type)
        if version >= 3:
            if version >= 4:
                write_compact_nullable_string(out, self.documentation)
            else:
                write_nullable_string(out, self.documentation)
        if version >= 4:
            out.append(0)


class DescribeConfigsResult(Struct):
    error_code: int = 0
    error_message: str | None = None
    resource_type: int = 0
    resource_name: str = ""
    configs: list[DescribeConfigsResourceResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeConfigsResult, int]:
        (error_code,) = _PACKED_2.unpack_from(buf, at)
        at += 2
        error_message: str | None
        if version >= 4:
            error_message, at = read_compact_nullable_string(buf, at)
        else:
            error_message, at = read_nullable_string(buf, at)
        (resource_type,) = _PACKED_0.unpack_from(buf, at)
        at += 1
        if version >= 4:
            resource_name, at = read_compact_string(buf, at)
        else:
            resource_name, at = read_string(buf, at)
        if version >= 4:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 9)
        else:
            count, at = read_count(buf, at, 11)
        configs: list[DescribeConfigsResourceResult] = []
        for _ in range(count):
            configs_item, at = DescribeConfigsResourceResult.read(buf, at, version)
            configs.append(configs_item)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeConfigsResult(
            error_code,
            error_message,
            resource_type,
            resource_name,
            configs,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.error_code)
        if version >= 4:
            write_compact_nullable_string(out, self.error_message)
        else:
            write_nullable_string(out, self.error_message)
        out += _PACKED_0.pack(self.resource_type)
        if version >= 4:
            write_compact_string(out, self.resource_name)
        else:
            write_string(out, self.resource_name)
        if version >= 4:
            write_compact_count(out, len(self.configs))
        else:
            write_count(out, len(self.configs))
        for configs_item in self.configs:
            configs_item.write(out, version)
        if version >= 4:
            out.append(0)


class DescribeConfigsRequest(Message):
    KEY: ClassVar[int] = 32
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 4
    SHAPE: ClassVar[Shape] = (
        (1, 4, ("list", ((1, 4, 1), (1, 4, "string"), (1, 4, ("list", "string")),))),
        (1, 4, 1),
        (3, 4, 1),
    )
    resources: list[DescribeConfigsResource] = []
    include_synonyms: bool = False
    include_documentation: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeConfigsRequest, int]:
        if version >= 4:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 7)
        resources: list[DescribeConfigsResource] = []
        for _ in range(count):
            resources_item, at = DescribeConfigsResource.read(buf, at, version)
            resources.append(resources_item)
        if version >= 3:
            include_synonyms, include_documentation = _PACKED_3.unpack_from(buf, at)
            at += 2
        else:
            (include_synonyms,) = _PACKED_4.unpack_from(buf, at)
            at += 1
            include_documentation = False
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeConfigsRequest(resources, include_synonyms, include_documentation), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 4:
            write_compact_count(out, len(self.resources))
        else:
            write_count(out, len(self.resources))
        for resources_item in self.resources:
            resources_item.write(out, version)
        if version >= 3:
            out += _PACKED_3.pack(self.include_synonyms, self.include_documentation)
        else:
            out += _PACKED_4.pack(self.include_synonyms)
            if self.include_documentation:
                raise absent(version, "include_documentation")
        if version >= 4:
            out.append(0)


class DescribeConfigsResponse(Message):
    KEY: ClassVar[int] = 32
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 4
    throttle_time_ms: int = 0
    results: list[DescribeConfigsResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeConfigsResponse, int]:
        (throttle_time_ms,) = _PACKED_5.unpack_from(buf, at)
        at += 4
        if version >= 4:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 7)
        else:
            count, at = read_count(buf, at, 11)
        results: list[DescribeConfigsResult] = []
        for _ in range(count):
            results_item, at = DescribeConfigsResult.read(buf, at, version)
            results.append(results_item)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeConfigsResponse(throttle_time_ms, results), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_5.pack(self.throttle_time_ms)
        if version >= 4:
            write_compact_count(out, len(self.results))
        else:
            write_count(out, len(self.results))
        for results_item in self.results:
            results_item.write(out, version)
        if version >= 4:
            out.append(0)
