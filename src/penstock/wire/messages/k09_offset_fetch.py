"""Generated from definitions/k09_offset_fetch.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    absent,
    check_tag,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_nullable_count,
    read_nullable_string,
    read_numbers,
    read_string,
    read_tag,
    read_tag_count,
    required,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_nullable_string,
    write_string,
    write_tagged,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">16s")
_PACKED_2 = Packed(">iqi")
_PACKED_3 = Packed(">iq")
_PACKED_4 = Packed(">h")
_PACKED_5 = Packed(">q")
_PACKED_6 = Packed(">?")


class OffsetFetchRequestTopic(Struct):
    name: str = ""
    partition_indexes: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetFetchRequestTopic, int]:
        if version >= 6:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        if version >= 6:
            count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 4)
        partition_indexes, at = read_numbers(buf, at, count, "i", 4)
        if version >= 6:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return OffsetFetchRequestTopic(name, partition_indexes), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 6:
            write_compact_string(out, self.name)
        else:
            write_string(out, self.name)
        if version >= 6:
            write_compact_count(out, len(self.partition_indexes))
        else:
            write_count(out, len(self.partition_indexes))
        for partition_indexes_item in self.partition_indexes:
            out += _PACKED_0.pack(partition_indexes_item)
        if version >= 6:
            out.append(0)


class OffsetFetchRequestTopics(Struct):
    name: str = ""
    topic_id: bytes = NULL_UUID
    partition_indexes: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetFetchRequestTopics, int]:
        name: str = ""
        if version <= 9:
            name, at = read_compact_string(buf, at)
        topic_id: bytes = NULL_UUID
        if version >= 10:
            (topic_id,) = _PACKED_1.unpack_from(buf, at)
            at += 16
        count, at = read_compact_count(buf, at, 4)
        partition_indexes, at = read_numbers(buf, at, count, "i", 4)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return OffsetFetchRequestTopics(name, topic_id, partition_indexes), at

    def write(self, out: Sink, version: int) -> None:
        if version <= 9:
            write_compact_string(out, self.name)
        if version >= 10:
            out += _PACKED_1.pack(self.topic_id)
        write_compact_count(out, len(self.partition_indexes))
        for partition_indexes_item in self.partition_indexes:
            out += _PACKED_0.pack(partition_indexes_item)
        out.append(0)


class OffsetFetchRequestGroup(Struct):
    group_id: str = ""
    member_id: str | None = None
    member_epoch: int = -1
    topics: list[OffsetFetchRequestTopics] | None = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetFetchRequestGroup, int]:
        group_id, at = read_compact_string(buf, at)
        member_id: str | None = None
        if version >= 9:
            member_id, at = read_compact_nullable_string(buf, at)
        member_epoch: int = -1
        if version >= 9:
            (member_epoch,) = _PACKED_0.unpack_from(buf, at)
            at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_nullable_count(buf, at, 3)
        topics: list[OffsetFetchRequestTopics] | None = None
        if count >= 0:
            topics = []
            for _ in range(count):
                topics_item, at = OffsetFetchRequestTopics.read(buf, at, version)
                topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return OffsetFetchRequestGroup(group_id, member_id, member_epoch, topics), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.group_id)
        if version >= 9:
            write_compact_nullable_string(out, self.member_id)
        if version >= 9:
            out += _PACKED_0.pack(self.member_epoch)
        write_compact_count(out, -1 if self.topics is None else len(self.topics))
        for topics_item in self.topics or ():
            topics_item.write(out, version)
        out.append(0)


class OffsetFetchResponsePartition(Struct):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    metadata: str | None = ""
    error_code: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetFetchResponsePartition, int]:
        if version >= 5:
            partition_index, committed_offset, committed_leader_epoch = _PACKED_2.unpack_from(buf, at)
            at += 16
        else:
            partition_index, committed_offset = _PACKED_3.unpack_from(buf, at)
            at += 12
            committed_leader_epoch = -1
        metadata: str | None
        if version >= 6:
            metadata, at = read_compact_nullable_string(buf, at)
        else:
            metadata, at = read_nullable_string(buf, at)
        (error_code,) = _PACKED_4.unpack_from(buf, at)
        at += 2
        if version >= 6:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return OffsetFetchResponsePartition(
            partition_index,
            committed_offset,
            committed_leader_epoch,
            metadata,
            error_code,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 5:
            out += _PACKED_2.pack(self.partition_index, self.committed_offset, self.committed_leader_epoch)
        else:
            out += _PACKED_3.pack(self.partition_index, self.committed_offset)
        if version >= 6:
            write_compact_nullable_string(out, self.metadata)
        else:
            write_nullable_string(out, self.metadata)
        out += _PACKED_4.pack(self.error_code)
        if version >= 6:
            out.append(0)


class OffsetFetchResponseTopic(Struct):
    name: str = ""
    partitions: list[OffsetFetchResponsePartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetFetchResponseTopic, int]:
        if version >= 6:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        if version >= 6:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 20)
        else:
            count, at = read_count(buf, at, 16)
        partitions: list[OffsetFetchResponsePartition] = []
        for _ in range(count):
            partitions_item, at = OffsetFetchResponsePartition.read(buf, at, version)
            partitions.append(partitions_item)
        if version >= 6:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return OffsetFetchResponseTopic(name, partitions), at

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


class OffsetFetchResponsePartitions(Struct):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    metadata: str | None = ""
    error_code: int = 0
    lag: int = -1
    lag_ms: int = -1

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetFetchResponsePartitions, int]:
        partition_index, committed_offset, committed_leader_epoch = _PACKED_2.unpack_from(buf, at)
        at += 16
        metadata, at = read_compact_nullable_string(buf, at)
        (error_code,) = _PACKED_4.unpack_from(buf, at)
        at += 2
        lag: int = -1
        lag_ms: int = -1
        if buf[at]:
            count, at = read_tag_count(buf, at)
            for _ in range(count):
                tag, at, end = read_tag(buf, at)
                if tag == 10000:
                    (lag,) = _PACKED_5.unpack_from(buf, at)
                    at += 8
                elif tag == 10001:
                    (lag_ms,) = _PACKED_5.unpack_from(buf, at)
                    at += 8
                else:
                    at = end
                check_tag(at, end)
        else:
            at += 1
        return OffsetFetchResponsePartitions(
            partition_index,
            committed_offset,
            committed_leader_epoch,
            metadata,
            error_code,
            lag,
            lag_ms,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.partition_index, self.committed_offset, self.committed_leader_epoch)
        write_compact_nullable_string(out, self.metadata)
        out += _PACKED_4.pack(self.error_code)
        tagged: list[tuple[int, Sink]] = []
        if self.lag != -1:
            value = Sink()
            value += _PACKED_5.pack(self.lag)
            tagged.append((10000, value))
        if self.lag_ms != -1:
            value = Sink()
            value += _PACKED_5.pack(self.lag_ms)
            tagged.append((10001, value))
        if tagged:
            write_tagged(out, tagged)
        else:
            out.append(0)


class OffsetFetchResponseTopics(Struct):
    name: str = ""
    topic_id: bytes = NULL_UUID
    partitions: list[OffsetFetchResponsePartitions] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetFetchResponseTopics, int]:
        name: str = ""
        if version <= 9:
            name, at = read_compact_string(buf, at)
        topic_id: bytes = NULL_UUID
        if version >= 10:
            (topic_id,) = _PACKED_1.unpack_from(buf, at)
            at += 16
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 20)
        partitions: list[OffsetFetchResponsePartitions] = []
        for _ in range(count):
            partitions_item, at = OffsetFetchResponsePartitions.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return OffsetFetchResponseTopics(name, topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        if version <= 9:
            write_compact_string(out, self.name)
        if version >= 10:
            out += _PACKED_1.pack(self.topic_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class OffsetFetchResponseGroup(Struct):
    group_id: str = ""
    topics: list[OffsetFetchResponseTopics] = []
    error_code: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetFetchResponseGroup, int]:
        group_id, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        topics: list[OffsetFetchResponseTopics] = []
        for _ in range(count):
            topics_item, at = OffsetFetchResponseTopics.read(buf, at, version)
            topics.append(topics_item)
        (error_code,) = _PACKED_4.unpack_from(buf, at)
        at += 2
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return OffsetFetchResponseGroup(group_id, topics, error_code), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.group_id)
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out += _PACKED_4.pack(self.error_code)
        out.append(0)


class OffsetFetchRequest(Message):
    KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_SINCE: ClassVar[int] = 6
    SHAPE: ClassVar[Shape] = (
        (1, 7, "string"),
        (1, 7, ("list", ((1, 7, "string"), (1, 7, ("list", 4)),))),
        (8, 10, ("list", ((8, 10, "string"), (9, 10, "string"), (9, 10, 4), (8, 10, ("list", ((8, 9, "string"), (10, 10, 16), (8, 10, ("list", 4)),))),))),
        (7, 10, 1),
    )
    group_id: str = ""
    topics: list[OffsetFetchRequestTopic] | None = []
    groups: list[OffsetFetchRequestGroup] = []
    require_stable: bool = False
    with_lag: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetFetchRequest, int]:
        group_id: str = ""
        if version <= 7:
            if version >= 6:
                group_id, at = read_compact_string(buf, at)
            else:
                group_id, at = read_string(buf, at)
        topics: list[OffsetFetchRequestTopic] | None = []
        if version <= 7:
            if version >= 6:
                count = buf[at] - 1
                if 0 <= count < 0x7F:
                    at += 1
                else:
                    count, at = read_compact_nullable_count(buf, at, 3)
            elif version >= 2:
                count, at = read_nullable_count(buf, at, 6)
            else:
                count, at = read_count(buf, at, 6)
            topics = None
            if count >= 0:
                topics = []
                for _ in range(count):
                    topics_item, at = OffsetFetchRequestTopic.read(buf, at, version)
                    topics.append(topics_item)
        groups: list[OffsetFetchRequestGroup] = []
        if version >= 8:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
            groups = []
            for _ in range(count):
                groups_item, at = OffsetFetchRequestGroup.read(buf, at, version)
                groups.append(groups_item)
        require_stable: bool = False
        if version >= 7:
            (require_stable,) = _PACKED_6.unpack_from(buf, at)
            at += 1
        with_lag: bool = False
        if version >= 6:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 10000 and version >= 8:
                        (with_lag,) = _PACKED_6.unpack_from(buf, at)
                        at += 1
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return OffsetFetchRequest(group_id, topics, groups, require_stable, with_lag), at

    def write(self, out: Sink, version: int) -> None:
        if version <= 7:
            if version >= 6:
                write_compact_string(out, self.group_id)
            else:
                write_string(out, self.group_id)
        elif self.group_id != "":
            raise absent(version, "group_id")
        if version <= 7:
            if version >= 6:
                write_compact_count(out, -1 if self.topics is None else len(self.topics))
            elif version >= 2:
                write_count(out, -1 if self.topics is None else len(self.topics))
            else:
                write_count(out, len(required(self.topics, version, "topics")))
            for topics_item in self.topics or ():
                topics_item.write(out, version)
        elif self.topics != []:
            raise absent(version, "topics")
        if version >= 8:
            write_compact_count(out, len(self.groups))
            for groups_item in self.groups:
                groups_item.write(out, version)
        elif self.groups:
            raise absent(version, "groups")
        if version >= 7:
            out += _PACKED_6.pack(self.require_stable)
        elif self.require_stable:
            raise absent(version, "require_stable")
        if version >= 6:
            tagged: list[tuple[int, Sink]] = []
            if version >= 8:
                if self.with_lag:
                    value = Sink()
                    value += _PACKED_6.pack(self.with_lag)
                    tagged.append((10000, value))
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)


class OffsetFetchResponse(Message):
    KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_SINCE: ClassVar[int] = 6
    throttle_time_ms: int = 0
    topics: list[OffsetFetchResponseTopic] = []
    error_code: int = 0
    groups: list[OffsetFetchResponseGroup] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetFetchResponse, int]:
        throttle_time_ms: int = 0
        if version >= 3:
            (throttle_time_ms,) = _PACKED_0.unpack_from(buf, at)
            at += 4
        topics: list[OffsetFetchResponseTopic] = []
        if version <= 7:
            if version >= 6:
                count = buf[at] - 1
                if 0 <= count < 0x7F:
                    at += 1
                else:
                    count, at = read_compact_count(buf, at, 3)
            else:
                count, at = read_count(buf, at, 6)
            topics = []
            for _ in range(count):
                topics_item, at = OffsetFetchResponseTopic.read(buf, at, version)
                topics.append(topics_item)
        error_code: int = 0
        if 2 <= version <= 7:
            (error_code,) = _PACKED_4.unpack_from(buf, at)
            at += 2
        groups: list[OffsetFetchResponseGroup] = []
        if version >= 8:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 5)
            groups = []
            for _ in range(count):
                groups_item, at = OffsetFetchResponseGroup.read(buf, at, version)
                groups.append(groups_item)
        if version >= 6:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return OffsetFetchResponse(throttle_time_ms, topics, error_code, groups), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 3:
            out += _PACKED_0.pack(self.throttle_time_ms)
        if version <= 7:
            if version >= 6:
                write_compact_count(out, len(self.topics))
            else:
                write_count(out, len(self.topics))
            for topics_item in self.topics:
                topics_item.write(out, version)
        if 2 <= version <= 7:
            out += _PACKED_4.pack(self.error_code)
        if version >= 8:
            write_compact_count(out, len(self.groups))
            for groups_item in self.groups:
                groups_item.write(out, version)
        if version >= 6:
            out.append(0)
