"""Generated from definitions/k02_list_offsets.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    absent,
    check_tag,
    read_compact_count,
    read_compact_string,
    read_count,
    read_string,
    read_tag,
    read_tag_count,
    skip_tagged,
    write_compact_count,
    write_compact_string,
    write_count,
    write_string,
    write_tagged,
)

_PACKED_0 = Packed(">iiq")
_PACKED_1 = Packed(">i")
_PACKED_2 = Packed(">q")
_PACKED_3 = Packed(">ihqqi")
_PACKED_4 = Packed(">ihqq")
_PACKED_5 = Packed(">ib")
_PACKED_6 = Packed(">?")


class ListOffsetsPartition(Struct):
    partition_index: int = 0
    current_leader_epoch: int = -1
    timestamp: int = 0
    lag_of: int = -1
    vacant_from: int = -1

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ListOffsetsPartition, int]:
        if version >= 4:
            partition_index, current_leader_epoch, timestamp = _PACKED_0.unpack_from(buf, at)
            at += 16
        else:
            (partition_index,) = _PACKED_1.unpack_from(buf, at)
            at += 4
            current_leader_epoch = -1
            (timestamp,) = _PACKED_2.unpack_from(buf, at)
            at += 8
        lag_of: int = -1
        vacant_from: int = -1
        if version >= 6:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 10000:
                        (lag_of,) = _PACKED_2.unpack_from(buf, at)
                        at += 8
                    elif tag == 10001:
                        (vacant_from,) = _PACKED_2.unpack_from(buf, at)
                        at += 8
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return ListOffsetsPartition(
            partition_index,
            current_leader_epoch,
            timestamp,
            lag_of,
            vacant_from,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 4:
            out += _PACKED_0.pack(self.partition_index, self.current_leader_epoch, self.timestamp)
        else:
            out += _PACKED_1.pack(self.partition_index)
            out += _PACKED_2.pack(self.timestamp)
        if version >= 6:
            tagged: list[tuple[int, Sink]] = []
            if self.lag_of != -1:
                value = Sink()
                value += _PACKED_2.pack(self.lag_of)
                tagged.append((10000, value))
            if self.vacant_from != -1:
                value = Sink()
                value += _PACKED_2.pack(self.vacant_from)
                tagged.append((10001, value))
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)


class ListOffsetsTopic(Struct):
    name: str = ""
    partitions: list[ListOffsetsPartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ListOffsetsTopic, int]:
        if version >= 6:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        if version >= 6:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 17)
        else:
            count, at = read_count(buf, at, 12)
        partitions: list[ListOffsetsPartition] = []
        for _ in range(count):
            partitions_item, at = ListOffsetsPartition.read(buf, at, version)
            partitions.append(partitions_item)
        if version >= 6:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return ListOffsetsTopic(name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 6:
            write_compact_string(out, self.name)
        else:
            write_string(out, self.name)
        if version >= 6:
            write_compact_count(out, len(self.partitions))
        else:
            write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        if version >= 6:
            out.append(0)


class ListOffsetsPartitionResponse(Struct):
    partition_index: int = 0
    error_code: int = 0
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1
    lag: int = -1
    lag_ms: int = -1
    deleted_to: int = -1
    vacant: int = -1

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ListOffsetsPartitionResponse, int]:
        if version >= 4:
            partition_index, error_code, timestamp, offset, leader_epoch = _PACKED_3.unpack_from(buf, at)
            at += 26
        else:
            partition_index, error_code, timestamp, offset = _PACKED_4.unpack_from(buf, at)
            at += 22
            leader_epoch = -1
        lag: int = -1
        lag_ms: int = -1
        deleted_to: int = -1
        vacant: int = -1
        if version >= 6:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 10000:
                        (lag,) = _PACKED_2.unpack_from(buf, at)
                        at += 8
                    elif tag == 10001:
                        (lag_ms,) = _PACKED_2.unpack_from(buf, at)
                        at += 8
                    elif tag == 10002:
                        (deleted_to,) = _PACKED_2.unpack_from(buf, at)
                        at += 8
                    elif tag == 10003:
                        (vacant,) = _PACKED_2.unpack_from(buf, at)
                        at += 8
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return ListOffsetsPartitionResponse(
            partition_index,
            error_code,
            timestamp,
            offset,
            leader_epoch,
            lag,
            lag_ms,
            deleted_to,
            vacant,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 4:
            out += _PACKED_3.pack(self.partition_index, self.error_code, self.timestamp, self.offset, self.leader_epoch)
        else:
            out += _PACKED_4.pack(self.partition_index, self.error_code, self.timestamp, self.offset)
        if version >= 6:
            tagged: list[tuple[int, Sink]] = []
            if self.lag != -1:
                value = Sink()
                value += _PACKED_2.pack(self.lag)
                tagged.append((10000, value))
            if self.lag_ms != -1:
                value = Sink()
                value += _PACKED_2.pack(self.lag_ms)
                tagged.append((10001, value))
            if self.deleted_to != -1:
                value = Sink()
                value += _PACKED_2.pack(self.deleted_to)
                tagged.append((10002, value))
            if self.vacant != -1:
                value = Sink()
                value += _PACKED_2.pack(self.vacant)
                tagged.append((10003, value))
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)


class ListOffsetsTopicResponse(Struct):
    name: str = ""
    partitions: list[ListOffsetsPartitionResponse] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ListOffsetsTopicResponse, int]:
        if version >= 6:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        if version >= 6:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 27)
        else:
            count, at = read_count(buf, at, 22)
        partitions: list[ListOffsetsPartitionResponse] = []
        for _ in range(count):
            partitions_item, at = ListOffsetsPartitionResponse.read(buf, at, version)
            partitions.append(partitions_item)
        if version >= 6:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return ListOffsetsTopicResponse(name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 6:
            write_compact_string(out, self.name)
        else:
            write_string(out, self.name)
        if version >= 6:
            write_compact_count(out, len(self.partitions))
        else:
            write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        if version >= 6:
            out.append(0)


class ListOffsetsRequest(Message):
    KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 11
    FLEXIBLE_SINCE: ClassVar[int] = 6
    SHAPE: ClassVar[Shape] = (
        (1, 11, 4),
        (2, 11, 1),
        (1, 11, ("list", ((1, 11, "string"), (1, 11, ("list", ((1, 11, 4), (4, 11, 4), (1, 11, 8),))),))),
        (10, 11, 4),
    )
    replica_id: int = 0
    isolation_level: int = 0
    topics: list[ListOffsetsTopic] = []
    timeout_ms: int = 0
    with_deleted: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ListOffsetsRequest, int]:
        if version >= 2:
            replica_id, isolation_level = _PACKED_5.unpack_from(buf, at)
            at += 5
        else:
            (replica_id,) = _PACKED_1.unpack_from(buf, at)
            at += 4
            isolation_level = 0
        if version >= 6:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        topics: list[ListOffsetsTopic] = []
        for _ in range(count):
            topics_item, at = ListOffsetsTopic.read(buf, at, version)
            topics.append(topics_item)
        timeout_ms: int = 0
        if version >= 10:
            (timeout_ms,) = _PACKED_1.unpack_from(buf, at)
            at += 4
        with_deleted: bool = False
        if version >= 6:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 10000:
                        (with_deleted,) = _PACKED_6.unpack_from(buf, at)
                        at += 1
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return ListOffsetsRequest(
            replica_id,
            isolation_level,
            topics,
            timeout_ms,
            with_deleted,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            out += _PACKED_5.pack(self.replica_id, self.isolation_level)
        else:
            out += _PACKED_1.pack(self.replica_id)
            if self.isolation_level != 0:
                raise absent(version, "isolation_level")
        if version >= 6:
            write_compact_count(out, len(self.topics))
        else:
            write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 10:
            out += _PACKED_1.pack(self.timeout_ms)
        if version >= 6:
            tagged: list[tuple[int, Sink]] = []
            if self.with_deleted:
                value = Sink()
                value += _PACKED_6.pack(self.with_deleted)
                tagged.append((10000, value))
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)


class ListOffsetsResponse(Message):
    KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 11
    FLEXIBLE_SINCE: ClassVar[int] = 6
    throttle_time_ms: int = 0
    topics: list[ListOffsetsTopicResponse] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ListOffsetsResponse, int]:
        throttle_time_ms: int = 0
        if version >= 2:
            (throttle_time_ms,) = _PACKED_1.unpack_from(buf, at)
            at += 4
        if version >= 6:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        topics: list[ListOffsetsTopicResponse] = []
        for _ in range(count):
            topics_item, at = ListOffsetsTopicResponse.read(buf, at, version)
            topics.append(topics_item)
        if version >= 6:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return ListOffsetsResponse(throttle_time_ms, topics), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            out += _PACKED_1.pack(self.throttle_time_ms)
        if version >= 6:
            write_compact_count(out, len(self.topics))
        else:
            write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 6:
            out.append(0)
