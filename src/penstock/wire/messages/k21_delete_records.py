"""Generated from definitions/k21_delete_records.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_compact_count,
    read_compact_string,
    read_count,
    read_string,
    skip_tagged,
    write_compact_count,
    write_compact_string,
    write_count,
    write_string,
)

_PACKED_0 = Packed(">iq")
_PACKED_1 = Packed(">iqh")
_PACKED_2 = Packed(">i")


class DeleteRecordsPartition(Struct):
    partition_index: int = 0
    offset: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteRecordsPartition, int]:
        partition_index, offset = _PACKED_0.unpack_from(buf, at)
        at += 12
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DeleteRecordsPartition(partition_index, offset), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.partition_index, self.offset)
        if version >= 2:
            out.append(0)


class DeleteRecordsTopic(Struct):
    name: str = ""
    partitions: list[DeleteRecordsPartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteRecordsTopic, int]:
        if version >= 2:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 13)
        else:
            count, at = read_count(buf, at, 12)
        partitions: list[DeleteRecordsPartition] = []
        for _ in range(count):
            partitions_item, at = DeleteRecordsPartition.read(buf, at, version)
            partitions.append(partitions_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DeleteRecordsTopic(name, partitions), at

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


class DeleteRecordsPartitionResult(Struct):
    partition_index: int = 0
    low_watermark: int = 0
    error_code: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteRecordsPartitionResult, int]:
        partition_index, low_watermark, error_code = _PACKED_1.unpack_from(buf, at)
        at += 14
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DeleteRecordsPartitionResult(partition_index, low_watermark, error_code), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.partition_index, self.low_watermark, self.error_code)
        if version >= 2:
            out.append(0)


class DeleteRecordsTopicResult(Struct):
    name: str = ""
    partitions: list[DeleteRecordsPartitionResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteRecordsTopicResult, int]:
        if version >= 2:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 15)
        else:
            count, at = read_count(buf, at, 14)
        partitions: list[DeleteRecordsPartitionResult] = []
        for _ in range(count):
            partitions_item, at = DeleteRecordsPartitionResult.read(buf, at, version)
            partitions.append(partitions_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DeleteRecordsTopicResult(name, partitions), at

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


class DeleteRecordsRequest(Message):
    KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2
    SHAPE: ClassVar[Shape] = (
        (0, 2, ("list", ((0, 2, "string"), (0, 2, ("list", ((0, 2, 12),))),))),
        (0, 2, 4),
    )
    topics: list[DeleteRecordsTopic] = []
    timeout_ms: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteRecordsRequest, int]:
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        topics: list[DeleteRecordsTopic] = []
        for _ in range(count):
            topics_item, at = DeleteRecordsTopic.read(buf, at, version)
            topics.append(topics_item)
        (timeout_ms,) = _PACKED_2.unpack_from(buf, at)
        at += 4
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DeleteRecordsRequest(topics, timeout_ms), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_count(out, len(self.topics))
        else:
            write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out += _PACKED_2.pack(self.timeout_ms)
        if version >= 2:
            out.append(0)


class DeleteRecordsResponse(Message):
    KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2
    throttle_time_ms: int = 0
    topics: list[DeleteRecordsTopicResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteRecordsResponse, int]:
        (throttle_time_ms,) = _PACKED_2.unpack_from(buf, at)
        at += 4
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        topics: list[DeleteRecordsTopicResult] = []
        for _ in range(count):
            topics_item, at = DeleteRecordsTopicResult.read(buf, at, version)
            topics.append(topics_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DeleteRecordsResponse(throttle_time_ms, topics), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.throttle_time_ms)
        if version >= 2:
            write_compact_count(out, len(self.topics))
        else:
            write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 2:
            out.append(0)
