"""Generated from definitions/k35_describe_log_dirs.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_string,
    read_count,
    read_nullable_count,
    read_numbers,
    read_string,
    skip_tagged,
    write_compact_count,
    write_compact_string,
    write_count,
    write_string,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">iqq?")
_PACKED_2 = Packed(">h")
_PACKED_3 = Packed(">qq?")
_PACKED_4 = Packed(">qq")
_PACKED_5 = Packed(">ih")


class DescribableLogDirTopic(Struct):
    topic: str = ""
    partitions: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribableLogDirTopic, int]:
        if version >= 2:
            topic, at = read_compact_string(buf, at)
        else:
            topic, at = read_string(buf, at)
        if version >= 2:
            count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 4)
        partitions, at = read_numbers(buf, at, count, "i", 4)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribableLogDirTopic(topic, partitions), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_string(out, self.topic)
        else:
            write_string(out, self.topic)
        if version >= 2:
            write_compact_count(out, len(self.partitions))
        else:
            write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            out += _PACKED_0.pack(partitions_item)
        if version >= 2:
            out.append(0)


class DescribeLogDirsPartition(Struct):
    partition_index: int = 0
    partition_size: int = 0
    offset_lag: int = 0
    is_future_key: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeLogDirsPartition, int]:
        partition_index, partition_size, offset_lag, is_future_key = _PACKED_1.unpack_from(buf, at)
        at += 21
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeLogDirsPartition(
            partition_index,
            partition_size,
            offset_lag,
            is_future_key,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.partition_index, self.partition_size, self.offset_lag, self.is_future_key)
        if version >= 2:
            out.append(0)


class DescribeLogDirsTopic(Struct):
    name: str = ""
    partitions: list[DescribeLogDirsPartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeLogDirsTopic, int]:
        if version >= 2:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 22)
        else:
            count, at = read_count(buf, at, 21)
        partitions: list[DescribeLogDirsPartition] = []
        for _ in range(count):
            partitions_item, at = DescribeLogDirsPartition.read(buf, at, version)
            partitions.append(partitions_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeLogDirsTopic(name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_string(out, self.name)
        else:
            write_string(out, self.name)
        if version >= 2:
            write_compact_count(out, len(self.partitions))
        else:
            write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        if version >= 2:
            out.append(0)


class DescribeLogDirsResult(Struct):
    error_code: int = 0
    log_dir: str = ""
    topics: list[DescribeLogDirsTopic] = []
    total_bytes: int = -1
    usable_bytes: int = -1
    is_cordoned: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeLogDirsResult, int]:
        (error_code,) = _PACKED_2.unpack_from(buf, at)
        at += 2
        if version >= 2:
            log_dir, at = read_compact_string(buf, at)
        else:
            log_dir, at = read_string(buf, at)
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        topics: list[DescribeLogDirsTopic] = []
        for _ in range(count):
            topics_item, at = DescribeLogDirsTopic.read(buf, at, version)
            topics.append(topics_item)
        if version >= 5:
            total_bytes, usable_bytes, is_cordoned = _PACKED_3.unpack_from(buf, at)
            at += 17
        else:
            total_bytes = -1
            usable_bytes = -1
            if version >= 4:
                total_bytes, usable_bytes = _PACKED_4.unpack_from(buf, at)
                at += 16
            is_cordoned = False
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeLogDirsResult(
            error_code,
            log_dir,
            topics,
            total_bytes,
            usable_bytes,
            is_cordoned,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.error_code)
        if version >= 2:
            write_compact_string(out, self.log_dir)
        else:
            write_string(out, self.log_dir)
        if version >= 2:
            write_compact_count(out, len(self.topics))
        else:
            write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 5:
            out += _PACKED_3.pack(self.total_bytes, self.usable_bytes, self.is_cordoned)
        else:
            if version >= 4:
                out += _PACKED_4.pack(self.total_bytes, self.usable_bytes)
        if version >= 2:
            out.append(0)


class DescribeLogDirsRequest(Message):
    KEY: ClassVar[int] = 35
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 2
    SHAPE: ClassVar[Shape] = (
        (1, 5, ("list", ((1, 5, "string"), (1, 5, ("list", 4)),))),
    )
    topics: list[DescribableLogDirTopic] | None = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeLogDirsRequest, int]:
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_nullable_count(buf, at, 3)
        else:
            count, at = read_nullable_count(buf, at, 6)
        topics: list[DescribableLogDirTopic] | None = None
        if count >= 0:
            topics = []
            for _ in range(count):
                topics_item, at = DescribableLogDirTopic.read(buf, at, version)
                topics.append(topics_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeLogDirsRequest(topics), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_count(out, -1 if self.topics is None else len(self.topics))
        else:
            write_count(out, -1 if self.topics is None else len(self.topics))
        for topics_item in self.topics or ():
            topics_item.write(out, version)
        if version >= 2:
            out.append(0)


class DescribeLogDirsResponse(Message):
    KEY: ClassVar[int] = 35
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 2
    throttle_time_ms: int = 0
    error_code: int = 0
    results: list[DescribeLogDirsResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeLogDirsResponse, int]:
        if version >= 3:
            throttle_time_ms, error_code = _PACKED_5.unpack_from(buf, at)
            at += 6
        else:
            (throttle_time_ms,) = _PACKED_0.unpack_from(buf, at)
            at += 4
            error_code = 0
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 5)
        else:
            count, at = read_count(buf, at, 8)
        results: list[DescribeLogDirsResult] = []
        for _ in range(count):
            results_item, at = DescribeLogDirsResult.read(buf, at, version)
            results.append(results_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DescribeLogDirsResponse(throttle_time_ms, error_code, results), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 3:
            out += _PACKED_5.pack(self.throttle_time_ms, self.error_code)
        else:
            out += _PACKED_0.pack(self.throttle_time_ms)
        if version >= 2:
            write_compact_count(out, len(self.results))
        else:
            write_count(out, len(self.results))
        for results_item in self.results:
            results_item.write(out, version)
        if version >= 2:
            out.append(0)
