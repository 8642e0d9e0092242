"""Generated from definitions/k47_offset_delete.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_count,
    read_string,
    write_count,
    write_string,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">ih")
_PACKED_2 = Packed(">hi")


class OffsetDeleteRequestPartition(Struct):
    partition_index: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetDeleteRequestPartition, int]:
        (partition_index,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        return OffsetDeleteRequestPartition(partition_index), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.partition_index)


class OffsetDeleteRequestTopic(Struct):
    name: str = ""
    partitions: list[OffsetDeleteRequestPartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetDeleteRequestTopic, int]:
        name, at = read_string(buf, at)
        count, at = read_count(buf, at, 4)
        partitions: list[OffsetDeleteRequestPartition] = []
        for _ in range(count):
            partitions_item, at = OffsetDeleteRequestPartition.read(buf, at, version)
            partitions.append(partitions_item)
        return OffsetDeleteRequestTopic(name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.name)
        write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)


class OffsetDeleteResponsePartition(Struct):
    partition_index: int = 0
    error_code: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetDeleteResponsePartition, int]:
        partition_index, error_code = _PACKED_1.unpack_from(buf, at)
        at += 6
        return OffsetDeleteResponsePartition(partition_index, error_code), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.partition_index, self.error_code)


class OffsetDeleteResponseTopic(Struct):
    name: str = ""
    partitions: list[OffsetDeleteResponsePartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetDeleteResponseTopic, int]:
        name, at = read_string(buf, at)
        count, at = read_count(buf, at, 6)
        partitions: list[OffsetDeleteResponsePartition] = []
        for _ in range(count):
            partitions_item, at = OffsetDeleteResponsePartition.read(buf, at, version)
            partitions.append(partitions_item)
        return OffsetDeleteResponseTopic(name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.name)
        write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)


class OffsetDeleteRequest(Message):
    KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 32767
    SHAPE: ClassVar[Shape] = (
        (0, 0, "string"),
        (0, 0, ("list", ((0, 0, "string"), (0, 0, ("list", ((0, 0, 4),))),))),
    )
    group_id: str = ""
    topics: list[OffsetDeleteRequestTopic] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetDeleteRequest, int]:
        group_id, at = read_string(buf, at)
        count, at = read_count(buf, at, 6)
        topics: list[OffsetDeleteRequestTopic] = []
        for _ in range(count):
            topics_item, at = OffsetDeleteRequestTopic.read(buf, at, version)
            topics.append(topics_item)
        return OffsetDeleteRequest(group_id, topics), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.group_id)
        write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)


class OffsetDeleteResponse(Message):
    KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 32767
    error_code: int = 0
    throttle_time_ms: int = 0
    topics: list[OffsetDeleteResponseTopic] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetDeleteResponse, int]:
        error_code, throttle_time_ms = _PACKED_2.unpack_from(buf, at)
        at += 6
        count, at = read_count(buf, at, 6)
        topics: list[OffsetDeleteResponseTopic] = []
        for _ in range(count):
            topics_item, at = OffsetDeleteResponseTopic.read(buf, at, version)
            topics.append(topics_item)
        return OffsetDeleteResponse(error_code, throttle_time_ms, topics), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.error_code, self.throttle_time_ms)
        write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
