"""Generated from definitions/k90_describe_share_group_offsets.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    check_tag,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_numbers,
    read_tag,
    read_tag_count,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_tagged,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">iqiqh")
_PACKED_2 = Packed(">iqi")
_PACKED_3 = Packed(">h")
_PACKED_4 = Packed(">q")
_PACKED_5 = Packed(">16s")
_PACKED_6 = Packed(">?")


class DescribeShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = ""
    partitions: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeShareGroupOffsetsRequestTopic, int]:
        topic_name, at = read_compact_string(buf, at)
        count, at = read_compact_count(buf, at, 4)
        partitions, at = read_numbers(buf, at, count, "i", 4)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeShareGroupOffsetsRequestTopic(topic_name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.topic_name)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            out += _PACKED_0.pack(partitions_item)
        out.append(0)


class DescribeShareGroupOffsetsRequestGroup(Struct):
    group_id: str = ""
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeShareGroupOffsetsRequestGroup, int]:
        group_id, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_nullable_count(buf, at, 3)
        topics: list[DescribeShareGroupOffsetsRequestTopic] | None = None
        if count >= 0:
            topics = []
            for _ in range(count):
                topics_item, at = DescribeShareGroupOffsetsRequestTopic.read(buf, at, version)
                topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeShareGroupOffsetsRequestGroup(group_id, topics), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.group_id)
        write_compact_count(out, -1 if self.topics is None else len(self.topics))
        for topics_item in self.topics or ():
            topics_item.write(out, version)
        out.append(0)


class DescribeShareGroupOffsetsResponsePartition(Struct):
    partition_index: int = 0
    start_offset: int = 0
    leader_epoch: int = 0
    lag: int = -1
    error_code: int = 0
    error_message: str | None = None
    end_offset: int = -1

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeShareGroupOffsetsResponsePartition, int]:
        if version >= 1:
            partition_index, start_offset, leader_epoch, lag, error_code = _PACKED_1.unpack_from(buf, at)
            at += 26
        else:
            partition_index, start_offset, leader_epoch = _PACKED_2.unpack_from(buf, at)
            at += 16
            lag = -1
            (error_code,) = _PACKED_3.unpack_from(buf, at)
            at += 2
        error_message, at = read_compact_nullable_string(buf, at)
        end_offset: int = -1
        if buf[at]:
            count, at = read_tag_count(buf, at)
            for _ in range(count):
                tag, at, end = read_tag(buf, at)
                if tag == 10000 and version >= 1:
                    (end_offset,) = _PACKED_4.unpack_from(buf, at)
                    at += 8
                else:
                    at = end
                check_tag(at, end)
        else:
            at += 1
        return DescribeShareGroupOffsetsResponsePartition(
            partition_index,
            start_offset,
            leader_epoch,
            lag,
            error_code,
            error_message,
            end_offset,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            out += _PACKED_1.pack(self.partition_index, self.start_offset, self.leader_epoch, self.lag, self.error_code)
        else:
            out += _PACKED_2.pack(self.partition_index, self.start_offset, self.leader_epoch)
            out += _PACKED_3.pack(self.error_code)
        write_compact_nullable_string(out, self.error_message)
        tagged: list[tuple[int, Sink]] = []
        if version >= 1:
            if self.end_offset != -1:
                value = Sink()
                value += _PACKED_4.pack(self.end_offset)
                tagged.append((10000, value))
        if tagged:
            write_tagged(out, tagged)
        else:
            out.append(0)


class DescribeShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = ""
    topic_id: bytes = NULL_UUID
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeShareGroupOffsetsResponseTopic, int]:
        topic_name, at = read_compact_string(buf, at)
        (topic_id,) = _PACKED_5.unpack_from(buf, at)
        at += 16
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 20)
        partitions: list[DescribeShareGroupOffsetsResponsePartition] = []
        for _ in range(count):
            partitions_item, at = DescribeShareGroupOffsetsResponsePartition.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeShareGroupOffsetsResponseTopic(topic_name, topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.topic_name)
        out += _PACKED_5.pack(self.topic_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class DescribeShareGroupOffsetsResponseGroup(Struct):
    group_id: str = ""
    topics: list[DescribeShareGroupOffsetsResponseTopic] = []
    error_code: int = 0
    error_message: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeShareGroupOffsetsResponseGroup, int]:
        group_id, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 19)
        topics: list[DescribeShareGroupOffsetsResponseTopic] = []
        for _ in range(count):
            topics_item, at = DescribeShareGroupOffsetsResponseTopic.read(buf, at, version)
            topics.append(topics_item)
        (error_code,) = _PACKED_3.unpack_from(buf, at)
        at += 2
        error_message, at = read_compact_nullable_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeShareGroupOffsetsResponseGroup(
            group_id,
            topics,
            error_code,
            error_message,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.group_id)
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out += _PACKED_3.pack(self.error_code)
        write_compact_nullable_string(out, self.error_message)
        out.append(0)


class DescribeShareGroupOffsetsRequest(Message):
    KEY: ClassVar[int] = 90
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 1, ("list", ((0, 1, "string"), (0, 1, ("list", ((0, 1, "string"), (0, 1, ("list", 4)),))),))),
    )
    groups: list[DescribeShareGroupOffsetsRequestGroup] = []
    with_end: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeShareGroupOffsetsRequest, int]:
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        groups: list[DescribeShareGroupOffsetsRequestGroup] = []
        for _ in range(count):
            groups_item, at = DescribeShareGroupOffsetsRequestGroup.read(buf, at, version)
            groups.append(groups_item)
        with_end: bool = False
        if buf[at]:
            count, at = read_tag_count(buf, at)
            for _ in range(count):
                tag, at, end = read_tag(buf, at)
                if tag == 10000:
                    (with_end,) = _PACKED_6.unpack_from(buf, at)
                    at += 1
                else:
                    at = end
                check_tag(at, end)
        else:
            at += 1
        return DescribeShareGroupOffsetsRequest(groups, with_end), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.groups))
        for groups_item in self.groups:
            groups_item.write(out, version)
        tagged: list[tuple[int, Sink]] = []
        if self.with_end:
            value = Sink()
            value += _PACKED_6.pack(self.with_end)
            tagged.append((10000, value))
        if tagged:
            write_tagged(out, tagged)
        else:
            out.append(0)


class DescribeShareGroupOffsetsResponse(Message):
    KEY: ClassVar[int] = 90
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    groups: list[DescribeShareGroupOffsetsResponseGroup] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeShareGroupOffsetsResponse, int]:
        (throttle_time_ms,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 6)
        groups: list[DescribeShareGroupOffsetsResponseGroup] = []
        for _ in range(count):
            groups_item, at = DescribeShareGroupOffsetsResponseGroup.read(buf, at, version)
            groups.append(groups_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeShareGroupOffsetsResponse(throttle_time_ms, groups), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.throttle_time_ms)
        write_compact_count(out, len(self.groups))
        for groups_item in self.groups:
            groups_item.write(out, version)
        out.append(0)
