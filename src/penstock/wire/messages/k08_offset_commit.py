"""Generated from definitions/k08_offset_commit.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    absent,
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

_PACKED_0 = Packed(">iqi")
_PACKED_1 = Packed(">iq")
_PACKED_2 = Packed(">16s")
_PACKED_3 = Packed(">ih")
_PACKED_4 = Packed(">i")
_PACKED_5 = Packed(">q")


class OffsetCommitRequestPartition(Struct):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    committed_metadata: str | None = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetCommitRequestPartition, int]:
        if version >= 6:
            partition_index, committed_offset, committed_leader_epoch = _PACKED_0.unpack_from(buf, at)
            at += 16
        else:
            partition_index, committed_offset = _PACKED_1.unpack_from(buf, at)
            at += 12
            committed_leader_epoch = -1
        committed_metadata: str | None
        if version >= 8:
            committed_metadata, at = read_compact_nullable_string(buf, at)
        else:
            committed_metadata, at = read_nullable_string(buf, at)
        if version >= 8:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return OffsetCommitRequestPartition(
            partition_index,
            committed_offset,
            committed_leader_epoch,
            committed_metadata,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 6:
            out += _PACKED_0.pack(self.partition_index, self.committed_offset, self.committed_leader_epoch)
        else:
            out += _PACKED_1.pack(self.partition_index, self.committed_offset)
        if version >= 8:
            write_compact_nullable_string(out, self.committed_metadata)
        else:
            write_nullable_string(out, self.committed_metadata)
        if version >= 8:
            out.append(0)


class OffsetCommitRequestTopic(Struct):
    name: str = ""
    topic_id: bytes = NULL_UUID
    partitions: list[OffsetCommitRequestPartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetCommitRequestTopic, int]:
        name: str = ""
        if version <= 9:
            if version >= 8:
                name, at = read_compact_string(buf, at)
            else:
                name, at = read_string(buf, at)
        topic_id: bytes = NULL_UUID
        if version >= 10:
            (topic_id,) = _PACKED_2.unpack_from(buf, at)
            at += 16
        if version >= 8:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 18)
        else:
            count, at = read_count(buf, at, 14)
        partitions: list[OffsetCommitRequestPartition] = []
        for _ in range(count):
            partitions_item, at = OffsetCommitRequestPartition.read(buf, at, version)
            partitions.append(partitions_item)
        if version >= 8:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return OffsetCommitRequestTopic(name, topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        if version <= 9:
            if version >= 8:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
        if version >= 10:
            out += _PACKED_2.pack(self.topic_id)
        if version >= 8:
            write_compact_count(out, len(self.partitions))
        else:
            write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        if version >= 8:
            out.append(0)


class OffsetCommitResponsePartition(Struct):
    partition_index: int = 0
    error_code: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetCommitResponsePartition, int]:
        partition_index, error_code = _PACKED_3.unpack_from(buf, at)
        at += 6
        if version >= 8:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return OffsetCommitResponsePartition(partition_index, error_code), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_3.pack(self.partition_index, self.error_code)
        if version >= 8:
            out.append(0)


class OffsetCommitResponseTopic(Struct):
    name: str = ""
    topic_id: bytes = NULL_UUID
    partitions: list[OffsetCommitResponsePartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetCommitResponseTopic, int]:
        name: str = ""
        if version <= 9:
            if version >= 8:
                name, at = read_compact_string(buf, at)
            else:
                name, at = read_string(buf, at)
        topic_id: bytes = NULL_UUID
        if version >= 10:
            (topic_id,) = _PACKED_2.unpack_from(buf, at)
            at += 16
        if version >= 8:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 7)
        else:
            count, at = read_count(buf, at, 6)
        partitions: list[OffsetCommitResponsePartition] = []
        for _ in range(count):
            partitions_item, at = OffsetCommitResponsePartition.read(buf, at, version)
            partitions.append(partitions_item)
        if version >= 8:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return OffsetCommitResponseTopic(name, topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        if version <= 9:
            if version >= 8:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
        if version >= 10:
            out += _PACKED_2.pack(self.topic_id)
        if version >= 8:
            write_compact_count(out, len(self.partitions))
        else:
            write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        if version >= 8:
            out.append(0)


class OffsetCommitRequest(Message):
    KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_SINCE: ClassVar[int] = 8
    SHAPE: ClassVar[Shape] = (
        (2, 10, "string"),
        (2, 10, 4),
        (2, 10, "string"),
        (7, 10, "string"),
        (2, 4, 8),
        (2, 10, ("list", ((2, 9, "string"), (10, 10, 16), (2, 10, ("list", ((2, 10, 12), (6, 10, 4), (2, 10, "string"),))),))),
    )
    group_id: str = ""
    generation_id_or_member_epoch: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    retention_time_ms: int = -1
    topics: list[OffsetCommitRequestTopic] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetCommitRequest, int]:
        if version >= 8:
            group_id, at = read_compact_string(buf, at)
        else:
            group_id, at = read_string(buf, at)
        (generation_id_or_member_epoch,) = _PACKED_4.unpack_from(buf, at)
        at += 4
        if version >= 8:
            member_id, at = read_compact_string(buf, at)
        else:
            member_id, at = read_string(buf, at)
        group_instance_id: str | None = None
        if version >= 7:
            if version >= 8:
                group_instance_id, at = read_compact_nullable_string(buf, at)
            else:
                group_instance_id, at = read_nullable_string(buf, at)
        retention_time_ms: int = -1
        if version <= 4:
            (retention_time_ms,) = _PACKED_5.unpack_from(buf, at)
            at += 8
        if version >= 8:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        topics: list[OffsetCommitRequestTopic] = []
        for _ in range(count):
            topics_item, at = OffsetCommitRequestTopic.read(buf, at, version)
            topics.append(topics_item)
        if version >= 8:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return OffsetCommitRequest(
            group_id,
            generation_id_or_member_epoch,
            member_id,
            group_instance_id,
            retention_time_ms,
            topics,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 8:
            write_compact_string(out, self.group_id)
        else:
            write_string(out, self.group_id)
        out += _PACKED_4.pack(self.generation_id_or_member_epoch)
        if version >= 8:
            write_compact_string(out, self.member_id)
        else:
            write_string(out, self.member_id)
        if version >= 7:
            if version >= 8:
                write_compact_nullable_string(out, self.group_instance_id)
            else:
                write_nullable_string(out, self.group_instance_id)
        elif self.group_instance_id is not None:
            raise absent(version, "group_instance_id")
        if version <= 4:
            out += _PACKED_5.pack(self.retention_time_ms)
        if version >= 8:
            write_compact_count(out, len(self.topics))
        else:
            write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 8:
            out.append(0)


class OffsetCommitResponse(Message):
    KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_SINCE: ClassVar[int] = 8
    throttle_time_ms: int = 0
    topics: list[OffsetCommitResponseTopic] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetCommitResponse, int]:
        throttle_time_ms: int = 0
        if version >= 3:
            (throttle_time_ms,) = _PACKED_4.unpack_from(buf, at)
            at += 4
        if version >= 8:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        topics: list[OffsetCommitResponseTopic] = []
        for _ in range(count):
            topics_item, at = OffsetCommitResponseTopic.read(buf, at, version)
            topics.append(topics_item)
        if version >= 8:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return OffsetCommitResponse(throttle_time_ms, topics), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 3:
            out += _PACKED_4.pack(self.throttle_time_ms)
        if version >= 8:
            write_compact_count(out, len(self.topics))
        else:
            write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 8:
            out.append(0)
