"""Generated from definitions/k23_offset_for_leader_epoch.txt; do not edit."""

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

_PACKED_0 = Packed(">iii")
_PACKED_1 = Packed(">hiiq")
_PACKED_2 = Packed(">i")


class OffsetForLeaderPartition(Struct):
    partition: int = 0
    current_leader_epoch: int = -1
    leader_epoch: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetForLeaderPartition, int]:
        partition, current_leader_epoch, leader_epoch = _PACKED_0.unpack_from(buf, at)
        at += 12
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return OffsetForLeaderPartition(partition, current_leader_epoch, leader_epoch), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.partition, self.current_leader_epoch, self.leader_epoch)
        if version >= 4:
            out.append(0)


class OffsetForLeaderTopic(Struct):
    topic: str = ""
    partitions: list[OffsetForLeaderPartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetForLeaderTopic, int]:
        if version >= 4:
            topic, at = read_compact_string(buf, at)
        else:
            topic, at = read_string(buf, at)
        if version >= 4:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 13)
        else:
            count, at = read_count(buf, at, 12)
        partitions: list[OffsetForLeaderPartition] = []
        for _ in range(count):
            partitions_item, at = OffsetForLeaderPartition.read(buf, at, version)
            partitions.append(partitions_item)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return OffsetForLeaderTopic(topic, partitions), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 4:
            write_compact_string(out, self.topic)
        else:
            write_string(out, self.topic)
        if version >= 4:
            write_compact_count(out, len(self.partitions))
        else:
            write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        if version >= 4:
            out.append(0)


class EpochEndOffset(Struct):
    error_code: int = 0
    partition: int = 0
    leader_epoch: int = -1
    end_offset: int = -1

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[EpochEndOffset, int]:
        error_code, partition, leader_epoch, end_offset = _PACKED_1.unpack_from(buf, at)
        at += 18
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return EpochEndOffset(error_code, partition, leader_epoch, end_offset), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.error_code, self.partition, self.leader_epoch, self.end_offset)
        if version >= 4:
            out.append(0)


class OffsetForLeaderTopicResult(Struct):
    topic: str = ""
    partitions: list[EpochEndOffset] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetForLeaderTopicResult, int]:
        if version >= 4:
            topic, at = read_compact_string(buf, at)
        else:
            topic, at = read_string(buf, at)
        if version >= 4:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 19)
        else:
            count, at = read_count(buf, at, 18)
        partitions: list[EpochEndOffset] = []
        for _ in range(count):
            partitions_item, at = EpochEndOffset.read(buf, at, version)
            partitions.append(partitions_item)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return OffsetForLeaderTopicResult(topic, partitions), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 4:
            write_compact_string(out, self.topic)
        else:
            write_string(out, self.topic)
        if version >= 4:
            write_compact_count(out, len(self.partitions))
        else:
            write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        if version >= 4:
            out.append(0)


class OffsetForLeaderEpochRequest(Message):
    KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 4
    SHAPE: ClassVar[Shape] = (
        (3, 4, 4),
        (2, 4, ("list", ((2, 4, "string"), (2, 4, ("list", ((2, 4, 12),))),))),
    )
    replica_id: int = -2
    topics: list[OffsetForLeaderTopic] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetForLeaderEpochRequest, int]:
        replica_id: int = -2
        if version >= 3:
            (replica_id,) = _PACKED_2.unpack_from(buf, at)
            at += 4
        if version >= 4:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        topics: list[OffsetForLeaderTopic] = []
        for _ in range(count):
            topics_item, at = OffsetForLeaderTopic.read(buf, at, version)
            topics.append(topics_item)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return OffsetForLeaderEpochRequest(replica_id, topics), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 3:
            out += _PACKED_2.pack(self.replica_id)
        if version >= 4:
            write_compact_count(out, len(self.topics))
        else:
            write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 4:
            out.append(0)


class OffsetForLeaderEpochResponse(Message):
    KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 4
    throttle_time_ms: int = 0
    topics: list[OffsetForLeaderTopicResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetForLeaderEpochResponse, int]:
        (throttle_time_ms,) = _PACKED_2.unpack_from(buf, at)
        at += 4
        if version >= 4:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        topics: list[OffsetForLeaderTopicResult] = []
        for _ in range(count):
            topics_item, at = OffsetForLeaderTopicResult.read(buf, at, version)
            topics.append(topics_item)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return OffsetForLeaderEpochResponse(throttle_time_ms, topics), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.throttle_time_ms)
        if version >= 4:
            write_compact_count(out, len(self.topics))
        else:
            write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 4:
            out.append(0)
