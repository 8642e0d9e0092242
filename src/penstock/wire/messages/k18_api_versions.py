"""Generated from definitions/k18_api_versions.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    check_tag,
    read_compact_count,
    read_compact_string,
    read_count,
    read_tag,
    read_tag_count,
    skip_tagged,
    write_compact_count,
    write_compact_string,
    write_count,
    write_tagged,
)

_PACKED_0 = Packed(">hhh")
_PACKED_1 = Packed(">hh")
_PACKED_2 = Packed(">h")
_PACKED_3 = Packed(">i")
_PACKED_4 = Packed(">q")
_PACKED_5 = Packed(">?")


class ApiVersion(Struct):
    api_key: int = 0
    min_version: int = 0
    max_version: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ApiVersion, int]:
        api_key, min_version, max_version = _PACKED_0.unpack_from(buf, at)
        at += 6
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return ApiVersion(api_key, min_version, max_version), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.api_key, self.min_version, self.max_version)
        if version >= 3:
            out.append(0)


class SupportedFeatureKey(Struct):
    name: str = ""
    min_version: int = 0
    max_version: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[SupportedFeatureKey, int]:
        name, at = read_compact_string(buf, at)
        min_version, max_version = _PACKED_1.unpack_from(buf, at)
        at += 4
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return SupportedFeatureKey(name, min_version, max_version), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        out += _PACKED_1.pack(self.min_version, self.max_version)
        out.append(0)


class FinalizedFeatureKey(Struct):
    name: str = ""
    max_version_level: int = 0
    min_version_level: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[FinalizedFeatureKey, int]:
        name, at = read_compact_string(buf, at)
        max_version_level, min_version_level = _PACKED_1.unpack_from(buf, at)
        at += 4
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return FinalizedFeatureKey(name, max_version_level, min_version_level), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        out += _PACKED_1.pack(self.max_version_level, self.min_version_level)
        out.append(0)


class ApiVersionsRequest(Message):
    KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 3
    SHAPE: ClassVar[Shape] = (
        (3, 4, "string"),
        (3, 4, "string"),
    )
    client_software_name: str = ""
    client_software_version: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ApiVersionsRequest, int]:
        client_software_name: str = ""
        if version >= 3:
            client_software_name, at = read_compact_string(buf, at)
        client_software_version: str = ""
        if version >= 3:
            client_software_version, at = read_compact_string(buf, at)
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return ApiVersionsRequest(client_software_name, client_software_version), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 3:
            write_compact_string(out, self.client_software_name)
        if version >= 3:
            write_compact_string(out, self.client_software_version)
        if version >= 3:
            out.append(0)


class ApiVersionsResponse(Message):
    KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 3
    error_code: int = 0
    api_keys: list[ApiVersion] = []
    throttle_time_ms: int = 0
    supported_features: list[SupportedFeatureKey] = []
    finalized_features_epoch: int = -1
    finalized_features: list[FinalizedFeatureKey] = []
    zk_migration_ready: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ApiVersionsResponse, int]:
        (error_code,) = _PACKED_2.unpack_from(buf, at)
        at += 2
        if version >= 3:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 7)
        else:
            count, at = read_count(buf, at, 6)
        api_keys: list[ApiVersion] = []
        for _ in range(count):
            api_keys_item, at = ApiVersion.read(buf, at, version)
            api_keys.append(api_keys_item)
        throttle_time_ms: int = 0
        if version >= 1:
            (throttle_time_ms,) = _PACKED_3.unpack_from(buf, at)
            at += 4
        supported_features: list[SupportedFeatureKey] = []
        finalized_features_epoch: int = -1
        finalized_features: list[FinalizedFeatureKey] = []
        zk_migration_ready: bool = False
        if version >= 3:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 0:
                        count = buf[at] - 1
                        if 0 <= count < 0x7F:
                            at += 1
                        else:
                            count, at = read_compact_count(buf, at, 6)
                        supported_features = []
                        for _ in range(count):
                            supported_features_item, at = SupportedFeatureKey.read(buf, at, version)
                            supported_features.append(supported_features_item)
                    elif tag == 1:
                        (finalized_features_epoch,) = _PACKED_4.unpack_from(buf, at)
                        at += 8
                    elif tag == 2:
                        count = buf[at] - 1
                        if 0 <= count < 0x7F:
                            at += 1
                        else:
                            count, at = read_compact_count(buf, at, 6)
                        finalized_features = []
                        for _ in range(count):
                            finalized_features_item, at = FinalizedFeatureKey.read(buf, at, version)
                            finalized_features.append(finalized_features_item)
                    elif tag == 3:
                        (zk_migration_ready,) = _PACKED_5.unpack_from(buf, at)
                        at += 1
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return ApiVersionsResponse(
            error_code,
            api_keys,
            throttle_time_ms,
            supported_features,
            finalized_features_epoch,
            finalized_features,
            zk_migration_ready,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.error_code)
        if version >= 3:
            write_compact_count(out, len(self.api_keys))
        else:
            write_count(out, len(self.api_keys))
        for api_keys_item in self.api_keys:
            api_keys_item.write(out, version)
        if version >= 1:
            out += _PACKED_3.pack(self.throttle_time_ms)
        if version >= 3:
            tagged: list[tuple[int, Sink]] = []
            if self.supported_features:
                value = Sink()
                write_compact_count(value, len(self.supported_features))
                for supported_features_item in self.supported_features:
                    supported_features_item.write(value, version)
                tagged.append((0, value))
            if self.finalized_features_epoch != -1:
                value = Sink()
                value += _PACKED_4.pack(self.finalized_features_epoch)
                tagged.append((1, value))
            if self.finalized_features:
                value = Sink()
                write_compact_count(value, len(self.finalized_features))
                for finalized_features_item in self.finalized_features:
                    finalized_features_item.write(value, version)
                tagged.append((2, value))
            if self.zk_migration_ready:
                value = Sink()
                value += _PACKED_5.pack(self.zk_migration_ready)
                tagged.append((3, value))
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)
