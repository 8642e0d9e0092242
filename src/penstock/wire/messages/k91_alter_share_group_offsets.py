"""Generated from definitions/k91_alter_share_group_offsets.txt; do not edit."""

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

_PACKED_0 = Packed(">iq")
_PACKED_1 = Packed(">ih")
_PACKED_2 = Packed(">16s")


class AlterShareGroupOffsetsRequestPartition(Struct):
    partition_index: int = 0
    start_offset: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterShareGroupOffsetsRequestPartition, int]:
        partition_index, start_offset = _PACKED_0.unpack_from(buf, at)
        at += 12
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AlterShareGroupOffsetsRequestPartition(partition_index, start_offset), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.partition_index, self.start_offset)
        out.append(0)


class AlterShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = ""
    partitions: list[AlterShareGroupOffsetsRequestPartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterShareGroupOffsetsRequestTopic, int]:
        topic_name, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 13)
        partitions: list[AlterShareGroupOffsetsRequestPartition] = []
        for _ in range(count):
            partitions_item, at = AlterShareGroupOffsetsRequestPartition.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AlterShareGroupOffsetsRequestTopic(topic_name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.topic_name)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class AlterShareGroupOffsetsResponsePartition(Struct):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterShareGroupOffsetsResponsePartition, int]:
        partition_index, error_code = _PACKED_1.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AlterShareGroupOffsetsResponsePartition(
            partition_index,
            error_code,
            error_message,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.partition_index, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        out.append(0)


class AlterShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = ""
    topic_id: bytes = NULL_UUID
    partitions: list[AlterShareGroupOffsetsResponsePartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterShareGroupOffsetsResponseTopic, int]:
        topic_name, at = read_compact_string(buf, at)
        (topic_id,) = _PACKED_2.unpack_from(buf, at)
        at += 16
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 8)
        partitions: list[AlterShareGroupOffsetsResponsePartition] = []
        for _ in range(count):
            partitions_item, at = AlterShareGroupOffsetsResponsePartition.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AlterShareGroupOffsetsResponseTopic(topic_name, topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.topic_name)
        out += _PACKED_2.pack(self.topic_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class AlterShareGroupOffsetsRequest(Message):
    KEY: ClassVar[int] = 91
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 0, "string"),
        (0, 0, ("list", ((0, 0, "string"), (0, 0, ("list", ((0, 0, 12),))),))),
    )
    group_id: str = ""
    topics: list[AlterShareGroupOffsetsRequestTopic] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterShareGroupOffsetsRequest, int]:
        group_id, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        topics: list[AlterShareGroupOffsetsRequestTopic] = []
        for _ in range(count):
            topics_item, at = AlterShareGroupOffsetsRequestTopic.read(buf, at, version)
            topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AlterShareGroupOffsetsRequest(group_id, topics), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.group_id)
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(0)


class AlterShareGroupOffsetsResponse(Message):
    KEY: ClassVar[int] = 91
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    responses: list[AlterShareGroupOffsetsResponseTopic] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterShareGroupOffsetsResponse, int]:
        throttle_time_ms, error_code = _PACKED_1.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 19)
        responses: list[AlterShareGroupOffsetsResponseTopic] = []
        for _ in range(count):
            responses_item, at = AlterShareGroupOffsetsResponseTopic.read(buf, at, version)
            responses.append(responses_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AlterShareGroupOffsetsResponse(
            throttle_time_ms,
            error_code,
            error_message,
            responses,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.throttle_time_ms, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        write_compact_count(out, len(self.responses))
        for responses_item in self.responses:
            responses_item.write(out, version)
        out.append(0)
