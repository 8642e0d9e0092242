"""Generated from definitions/k57_update_features.txt; do not edit."""

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
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
)

_PACKED_0 = Packed(">h")
_PACKED_1 = Packed(">?")
_PACKED_2 = Packed(">b")
_PACKED_3 = Packed(">i")
_PACKED_4 = Packed(">ih")


class FeatureUpdateKey(Struct):
    feature: str = ""
    max_version_level: int = 0
    allow_downgrade: bool = False
    upgrade_type: int = 1

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[FeatureUpdateKey, int]:
        feature, at = read_compact_string(buf, at)
        (max_version_level,) = _PACKED_0.unpack_from(buf, at)
        at += 2
        allow_downgrade: bool = False
        if version <= 0:
            (allow_downgrade,) = _PACKED_1.unpack_from(buf, at)
            at += 1
        upgrade_type: int = 1
        if version >= 1:
            (upgrade_type,) = _PACKED_2.unpack_from(buf, at)
            at += 1
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return FeatureUpdateKey(feature, max_version_level, allow_downgrade, upgrade_type), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.feature)
        out += _PACKED_0.pack(self.max_version_level)
        if version <= 0:
            out += _PACKED_1.pack(self.allow_downgrade)
        elif self.allow_downgrade:
            raise absent(version, "allow_downgrade")
        if version >= 1:
            out += _PACKED_2.pack(self.upgrade_type)
        elif self.upgrade_type != 1:
            raise absent(version, "upgrade_type")
        out.append(0)


class UpdatableFeatureResult(Struct):
    feature: str = ""
    error_code: int = 0
    error_message: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[UpdatableFeatureResult, int]:
        feature, at = read_compact_string(buf, at)
        (error_code,) = _PACKED_0.unpack_from(buf, at)
        at += 2
        error_message, at = read_compact_nullable_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return UpdatableFeatureResult(feature, error_code, error_message), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.feature)
        out += _PACKED_0.pack(self.error_code)
        write_compact_nullable_string(out, self.error_message)
        out.append(0)


class UpdateFeaturesRequest(Message):
    KEY: ClassVar[int] = 57
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 2, 4),
        (0, 2, ("list", ((0, 2, "string"), (0, 2, 2), (0, 0, 1), (1, 2, 1),))),
        (1, 2, 1),
    )
    timeout_ms: int = 60000
    feature_updates: list[FeatureUpdateKey] = []
    validate_only: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[UpdateFeaturesRequest, int]:
        (timeout_ms,) = _PACKED_3.unpack_from(buf, at)
        at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 5)
        feature_updates: list[FeatureUpdateKey] = []
        for _ in range(count):
            feature_updates_item, at = FeatureUpdateKey.read(buf, at, version)
            feature_updates.append(feature_updates_item)
        validate_only: bool = False
        if version >= 1:
            (validate_only,) = _PACKED_1.unpack_from(buf, at)
            at += 1
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return UpdateFeaturesRequest(timeout_ms, feature_updates, validate_only), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_3.pack(self.timeout_ms)
        write_compact_count(out, len(self.feature_updates))
        for feature_updates_item in self.feature_updates:
            feature_updates_item.write(out, version)
        if version >= 1:
            out += _PACKED_1.pack(self.validate_only)
        elif self.validate_only:
            raise absent(version, "validate_only")
        out.append(0)


class UpdateFeaturesResponse(Message):
    KEY: ClassVar[int] = 57
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    results: list[UpdatableFeatureResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[UpdateFeaturesResponse, int]:
        throttle_time_ms, error_code = _PACKED_4.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        results: list[UpdatableFeatureResult] = []
        if version <= 1:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 5)
            results = []
            for _ in range(count):
                results_item, at = UpdatableFeatureResult.read(buf, at, version)
                results.append(results_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return UpdateFeaturesResponse(throttle_time_ms, error_code, error_message, results), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_4.pack(self.throttle_time_ms, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        if version <= 1:
            write_compact_count(out, len(self.results))
            for results_item in self.results:
                results_item.write(out, version)
        out.append(0)
