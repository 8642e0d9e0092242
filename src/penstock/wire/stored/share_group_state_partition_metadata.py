"""Generated from definitions/stored/share_group_state_partition_metadata.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    read_compact_count,
    read_compact_string,
    read_numbers,
    read_string,
    skip_tagged,
    write_compact_count,
    write_compact_string,
    write_string,
)
from penstock.wire.stored_codec import StoredKey, Versioned

_PACKED_0 = Packed(">16s")
_PACKED_1 = Packed(">q")
_PACKED_2 = Packed(">i")


class TopicPartitionsInfo(Struct):
    topic_id: bytes = NULL_UUID
    topic_name: str = ""
    partitions: list[int] = []
    create_timestamp: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TopicPartitionsInfo, int]:
        (topic_id,) = _PACKED_0.unpack_from(buf, at)
        at += 16
        topic_name, at = read_compact_string(buf, at)
        count, at = read_compact_count(buf, at, 4)
        partitions, at = read_numbers(buf, at, count, "i", 4)
        (create_timestamp,) = _PACKED_1.unpack_from(buf, at)
        at += 8
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return TopicPartitionsInfo(topic_id, topic_name, partitions, create_timestamp), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.topic_id)
        write_compact_string(out, self.topic_name)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            out += _PACKED_2.pack(partitions_item)
        out += _PACKED_1.pack(self.create_timestamp)
        out.append(0)


class TopicInfo(Struct):
    topic_id: bytes = NULL_UUID
    topic_name: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TopicInfo, int]:
        (topic_id,) = _PACKED_0.unpack_from(buf, at)
        at += 16
        topic_name, at = read_compact_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return TopicInfo(topic_id, topic_name), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.topic_id)
        write_compact_string(out, self.topic_name)
        out.append(0)


class ShareGroupStatePartitionMetadataValue(Versioned):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    initializing_topics: list[TopicPartitionsInfo] = []
    initialized_topics: list[TopicPartitionsInfo] = []
    deleting_topics: list[TopicInfo] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareGroupStatePartitionMetadataValue, int]:
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 27)
        initializing_topics: list[TopicPartitionsInfo] = []
        for _ in range(count):
            initializing_topics_item, at = TopicPartitionsInfo.read(buf, at, version)
            initializing_topics.append(initializing_topics_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 27)
        initialized_topics: list[TopicPartitionsInfo] = []
        for _ in range(count):
            initialized_topics_item, at = TopicPartitionsInfo.read(buf, at, version)
            initialized_topics.append(initialized_topics_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
        deleting_topics: list[TopicInfo] = []
        for _ in range(count):
            deleting_topics_item, at = TopicInfo.read(buf, at, version)
            deleting_topics.append(deleting_topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ShareGroupStatePartitionMetadataValue(
            initializing_topics,
            initialized_topics,
            deleting_topics,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.initializing_topics))
        for initializing_topics_item in self.initializing_topics:
            initializing_topics_item.write(out, version)
        write_compact_count(out, len(self.initialized_topics))
        for initialized_topics_item in self.initialized_topics:
            initialized_topics_item.write(out, version)
        write_compact_count(out, len(self.deleting_topics))
        for deleting_topics_item in self.deleting_topics:
            deleting_topics_item.write(out, version)
        out.append(0)


class ShareGroupStatePartitionMetadataKey(StoredKey):
    TYPE: ClassVar[int] = 15
    VALUE: ClassVar[type[ShareGroupStatePartitionMetadataValue]] = ShareGroupStatePartitionMetadataValue
    group_id: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareGroupStatePartitionMetadataKey, int]:
        group_id, at = read_string(buf, at)
        return ShareGroupStatePartitionMetadataKey(group_id), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.group_id)
