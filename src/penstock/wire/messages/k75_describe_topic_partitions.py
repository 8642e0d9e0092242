"""Generated from definitions/k75_describe_topic_partitions.txt; do not edit."""

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
    read_presence,
    read_tag,
    read_tag_count,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_presence,
    write_tagged,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">q")
_PACKED_2 = Packed(">hiii")
_PACKED_3 = Packed(">h")
_PACKED_4 = Packed(">16s?")


class TopicRequest(Struct):
    name: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TopicRequest, int]:
        name, at = read_compact_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return TopicRequest(name), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        out.append(0)


class Cursor(Struct):
    topic_name: str = ""
    partition_index: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Cursor, int]:
        topic_name, at = read_compact_string(buf, at)
        (partition_index,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return Cursor(topic_name, partition_index), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.topic_name)
        out += _PACKED_0.pack(self.partition_index)
        out.append(0)


class Writer(Struct):
    client_id: str = ""
    last_ms: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Writer, int]:
        client_id, at = read_compact_string(buf, at)
        (last_ms,) = _PACKED_1.unpack_from(buf, at)
        at += 8
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return Writer(client_id, last_ms), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.client_id)
        out += _PACKED_1.pack(self.last_ms)
        out.append(0)


class DescribeTopicPartitionsResponsePartition(Struct):
    error_code: int = 0
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = -1
    replica_nodes: list[int] = []
    isr_nodes: list[int] = []
    eligible_leader_replicas: list[int] | None = None
    last_known_elr: list[int] | None = None
    offline_replicas: list[int] = []
    writers: list[Writer] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeTopicPartitionsResponsePartition, int]:
        error_code, partition_index, leader_id, leader_epoch = _PACKED_2.unpack_from(buf, at)
        at += 14
        count, at = read_compact_count(buf, at, 4)
        replica_nodes, at = read_numbers(buf, at, count, "i", 4)
        count, at = read_compact_count(buf, at, 4)
        isr_nodes, at = read_numbers(buf, at, count, "i", 4)
        count, at = read_compact_nullable_count(buf, at, 4)
        eligible_leader_replicas: list[int] | None = None
        if count >= 0:
            eligible_leader_replicas, at = read_numbers(buf, at, count, "i", 4)
        count, at = read_compact_nullable_count(buf, at, 4)
        last_known_elr: list[int] | None = None
        if count >= 0:
            last_known_elr, at = read_numbers(buf, at, count, "i", 4)
        count, at = read_compact_count(buf, at, 4)
        offline_replicas, at = read_numbers(buf, at, count, "i", 4)
        writers: list[Writer] = []
        if buf[at]:
            count, at = read_tag_count(buf, at)
            for _ in range(count):
                tag, at, end = read_tag(buf, at)
                if tag == 10000:
                    count = buf[at] - 1
                    if 0 <= count < 0x7F:
                        at += 1
                    else:
                        count, at = read_compact_count(buf, at, 10)
                    writers = []
                    for _ in range(count):
                        writers_item, at = Writer.read(buf, at, version)
                        writers.append(writers_item)
                else:
                    at = end
                check_tag(at, end)
        else:
            at += 1
        return DescribeTopicPartitionsResponsePartition(
            error_code,
            partition_index,
            leader_id,
            leader_epoch,
            replica_nodes,
            isr_nodes,
            eligible_leader_replicas,
            last_known_elr,
            offline_replicas,
            writers,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.error_code, self.partition_index, self.leader_id, self.leader_epoch)
        write_compact_count(out, len(self.replica_nodes))
        for replica_nodes_item in self.replica_nodes:
            out += _PACKED_0.pack(replica_nodes_item)
        write_compact_count(out, len(self.isr_nodes))
        for isr_nodes_item in self.isr_nodes:
            out += _PACKED_0.pack(isr_nodes_item)
        write_compact_count(out, -1 if self.eligible_leader_replicas is None else len(self.eligible_leader_replicas))
        for eligible_leader_replicas_item in self.eligible_leader_replicas or ():
            out += _PACKED_0.pack(eligible_leader_replicas_item)
        write_compact_count(out, -1 if self.last_known_elr is None else len(self.last_known_elr))
        for last_known_elr_item in self.last_known_elr or ():
            out += _PACKED_0.pack(last_known_elr_item)
        write_compact_count(out, len(self.offline_replicas))
        for offline_replicas_item in self.offline_replicas:
            out += _PACKED_0.pack(offline_replicas_item)
        tagged: list[tuple[int, Sink]] = []
        if self.writers:
            value = Sink()
            write_compact_count(value, len(self.writers))
            for writers_item in self.writers:
                writers_item.write(value, version)
            tagged.append((10000, value))
        if tagged:
            write_tagged(out, tagged)
        else:
            out.append(0)


class DescribeTopicPartitionsResponseTopic(Struct):
    error_code: int = 0
    name: str | None = ""
    topic_id: bytes = NULL_UUID
    is_internal: bool = False
    partitions: list[DescribeTopicPartitionsResponsePartition] = []
    topic_authorized_operations: int = -2147483648
    open_partitions: int = -1
    closing_since_ms: int = -1
    closed_ms: int = -1
    reopened_ms: int = -1
    reopened_reason: str = ""
    sealed_from: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeTopicPartitionsResponseTopic, int]:
        (error_code,) = _PACKED_3.unpack_from(buf, at)
        at += 2
        name, at = read_compact_nullable_string(buf, at)
        topic_id, is_internal = _PACKED_4.unpack_from(buf, at)
        at += 17
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 20)
        partitions: list[DescribeTopicPartitionsResponsePartition] = []
        for _ in range(count):
            partitions_item, at = DescribeTopicPartitionsResponsePartition.read(buf, at, version)
            partitions.append(partitions_item)
        (topic_authorized_operations,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        open_partitions: int = -1
        closing_since_ms: int = -1
        closed_ms: int = -1
        reopened_ms: int = -1
        reopened_reason: str = ""
        sealed_from: str = ""
        if buf[at]:
            count, at = read_tag_count(buf, at)
            for _ in range(count):
                tag, at, end = read_tag(buf, at)
                if tag == 10000:
                    (open_partitions,) = _PACKED_0.unpack_from(buf, at)
                    at += 4
                elif tag == 10001:
                    (closing_since_ms,) = _PACKED_1.unpack_from(buf, at)
                    at += 8
                elif tag == 10002:
                    (closed_ms,) = _PACKED_1.unpack_from(buf, at)
                    at += 8
                elif tag == 10003:
                    (reopened_ms,) = _PACKED_1.unpack_from(buf, at)
                    at += 8
                elif tag == 10004:
                    reopened_reason, at = read_compact_string(buf, at)
                elif tag == 10005:
                    sealed_from, at = read_compact_string(buf, at)
                else:
                    at = end
                check_tag(at, end)
        else:
            at += 1
        return DescribeTopicPartitionsResponseTopic(
            error_code,
            name,
            topic_id,
            is_internal,
            partitions,
            topic_authorized_operations,
            open_partitions,
            closing_since_ms,
            closed_ms,
            reopened_ms,
            reopened_reason,
            sealed_from,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_3.pack(self.error_code)
        write_compact_nullable_string(out, self.name)
        out += _PACKED_4.pack(self.topic_id, self.is_internal)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out += _PACKED_0.pack(self.topic_authorized_operations)
        tagged: list[tuple[int, Sink]] = []
        if self.open_partitions != -1:
            value = Sink()
            value += _PACKED_0.pack(self.open_partitions)
            tagged.append((10000, value))
        if self.closing_since_ms != -1:
            value = Sink()
            value += _PACKED_1.pack(self.closing_since_ms)
            tagged.append((10001, value))
        if self.closed_ms != -1:
            value = Sink()
            value += _PACKED_1.pack(self.closed_ms)
            tagged.append((10002, value))
        if self.reopened_ms != -1:
            value = Sink()
            value += _PACKED_1.pack(self.reopened_ms)
            tagged.append((10003, value))
        if self.reopened_reason != "":
            value = Sink()
            write_compact_string(value, self.reopened_reason)
            tagged.append((10004, value))
        if self.sealed_from != "":
            value = Sink()
            write_compact_string(value, self.sealed_from)
            tagged.append((10005, value))
        if tagged:
            write_tagged(out, tagged)
        else:
            out.append(0)


class DescribeTopicPartitionsRequest(Message):
    KEY: ClassVar[int] = 75
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 0, ("list", ((0, 0, "string"),))),
        (0, 0, 4),
        (0, 0, ("maybe", ((0, 0, "string"), (0, 0, 4),))),
    )
    topics: list[TopicRequest] = []
    response_partition_limit: int = 2000
    cursor: Cursor | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeTopicPartitionsRequest, int]:
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 2)
        topics: list[TopicRequest] = []
        for _ in range(count):
            topics_item, at = TopicRequest.read(buf, at, version)
            topics.append(topics_item)
        (response_partition_limit,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        cursor: Cursor | None = None
        present, at = read_presence(buf, at)
        if present:
            cursor, at = Cursor.read(buf, at, version)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeTopicPartitionsRequest(topics, response_partition_limit, cursor), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out += _PACKED_0.pack(self.response_partition_limit)
        write_presence(out, self.cursor)
        if self.cursor is not None:
            self.cursor.write(out, version)
        out.append(0)


class DescribeTopicPartitionsResponse(Message):
    KEY: ClassVar[int] = 75
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    next_cursor: Cursor | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeTopicPartitionsResponse, int]:
        (throttle_time_ms,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 26)
        topics: list[DescribeTopicPartitionsResponseTopic] = []
        for _ in range(count):
            topics_item, at = DescribeTopicPartitionsResponseTopic.read(buf, at, version)
            topics.append(topics_item)
        next_cursor: Cursor | None = None
        present, at = read_presence(buf, at)
        if present:
            next_cursor, at = Cursor.read(buf, at, version)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeTopicPartitionsResponse(throttle_time_ms, topics, next_cursor), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.throttle_time_ms)
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        write_presence(out, self.next_cursor)
        if self.next_cursor is not None:
            self.next_cursor.write(out, version)
        out.append(0)
