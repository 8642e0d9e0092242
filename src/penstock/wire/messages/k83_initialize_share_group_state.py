"""Generated from definitions/k83_initialize_share_group_state.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
)

_PACKED_0 = Packed(">iiq")
_PACKED_1 = Packed(">16s")
_PACKED_2 = Packed(">ih")


class PartitionData(Struct):
    partition: int = 0
    state_epoch: int = 0
    start_offset: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[PartitionData, int]:
        partition, state_epoch, start_offset = _PACKED_0.unpack_from(buf, at)
        at += 16
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return PartitionData(partition, state_epoch, start_offset), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.partition, self.state_epoch, self.start_offset)
        out.append(0)


class InitializeStateData(Struct):
    topic_id: bytes = NULL_UUID
    partitions: list[PartitionData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[InitializeStateData, int]:
        (topic_id,) = _PACKED_1.unpack_from(buf, at)
        at += 16
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 17)
        partitions: list[PartitionData] = []
        for _ in range(count):
            partitions_item, at = PartitionData.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return InitializeStateData(topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.topic_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class PartitionResult(Struct):
    partition: int = 0
    error_code: int = 0
    error_message: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[PartitionResult, int]:
        partition, error_code = _PACKED_2.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return PartitionResult(partition, error_code, error_message), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.partition, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        out.append(0)


class InitializeStateResult(Struct):
    topic_id: bytes = NULL_UUID
    partitions: list[PartitionResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[InitializeStateResult, int]:
        (topic_id,) = _PACKED_1.unpack_from(buf, at)
        at += 16
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 8)
        partitions: list[PartitionResult] = []
        for _ in range(count):
            partitions_item, at = PartitionResult.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return InitializeStateResult(topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.topic_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class InitializeShareGroupStateRequest(Message):
    KEY: ClassVar[int] = 83
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 0, "string"),
        (0, 0, ("list", ((0, 0, 16), (0, 0, ("list", ((0, 0, 16),))),))),
    )
    group_id: str = ""
    topics: list[InitializeStateData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[InitializeShareGroupStateRequest, int]:
        group_id, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
        topics: list[InitializeStateData] = []
        for _ in range(count):
            topics_item, at = InitializeStateData.read(buf, at, version)
            topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return InitializeShareGroupStateRequest(group_id, topics), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.group_id)
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(0)


class InitializeShareGroupStateResponse(Message):
    KEY: ClassVar[int] = 83
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    results: list[InitializeStateResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[InitializeShareGroupStateResponse, int]:
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
        results: list[InitializeStateResult] = []
        for _ in range(count):
            results_item, at = InitializeStateResult.read(buf, at, version)
            results.append(results_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return InitializeShareGroupStateResponse(results), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.results))
        for results_item in self.results:
            results_item.write(out, version)
        out.append(0)
