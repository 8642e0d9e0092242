"""Generated from definitions/k46_list_partition_reassignments.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_numbers,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">ih")


class ListPartitionReassignmentsTopics(Struct):
    name: str = ""
    partition_indexes: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ListPartitionReassignmentsTopics, int]:
        name, at = read_compact_string(buf, at)
        count, at = read_compact_count(buf, at, 4)
        partition_indexes, at = read_numbers(buf, at, count, "i", 4)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ListPartitionReassignmentsTopics(name, partition_indexes), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        write_compact_count(out, len(self.partition_indexes))
        for partition_indexes_item in self.partition_indexes:
            out += _PACKED_0.pack(partition_indexes_item)
        out.append(0)


class OngoingPartitionReassignment(Struct):
    partition_index: int = 0
    replicas: list[int] = []
    adding_replicas: list[int] = []
    removing_replicas: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OngoingPartitionReassignment, int]:
        (partition_index,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        count, at = read_compact_count(buf, at, 4)
        replicas, at = read_numbers(buf, at, count, "i", 4)
        count, at = read_compact_count(buf, at, 4)
        adding_replicas, at = read_numbers(buf, at, count, "i", 4)
        count, at = read_compact_count(buf, at, 4)
        removing_replicas, at = read_numbers(buf, at, count, "i", 4)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return OngoingPartitionReassignment(
            partition_index,
            replicas,
            adding_replicas,
            removing_replicas,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.partition_index)
        write_compact_count(out, len(self.replicas))
        for replicas_item in self.replicas:
            out += _PACKED_0.pack(replicas_item)
        write_compact_count(out, len(self.adding_replicas))
        for adding_replicas_item in self.adding_replicas:
            out += _PACKED_0.pack(adding_replicas_item)
        write_compact_count(out, len(self.removing_replicas))
        for removing_replicas_item in self.removing_replicas:
            out += _PACKED_0.pack(removing_replicas_item)
        out.append(0)


class OngoingTopicReassignment(Struct):
    name: str = ""
    partitions: list[OngoingPartitionReassignment] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OngoingTopicReassignment, int]:
        name, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 8)
        partitions: list[OngoingPartitionReassignment] = []
        for _ in range(count):
            partitions_item, at = OngoingPartitionReassignment.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return OngoingTopicReassignment(name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class ListPartitionReassignmentsRequest(Message):
    KEY: ClassVar[int] = 46
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 0, 4),
        (0, 0, ("list", ((0, 0, "string"), (0, 0, ("list", 4)),))),
    )
    timeout_ms: int = 60000
    topics: list[ListPartitionReassignmentsTopics] | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ListPartitionReassignmentsRequest, int]:
        (timeout_ms,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_nullable_count(buf, at, 3)
        topics: list[ListPartitionReassignmentsTopics] | None = None
        if count >= 0:
            topics = []
            for _ in range(count):
                topics_item, at = ListPartitionReassignmentsTopics.read(buf, at, version)
                topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ListPartitionReassignmentsRequest(timeout_ms, topics), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.timeout_ms)
        write_compact_count(out, -1 if self.topics is None else len(self.topics))
        for topics_item in self.topics or ():
            topics_item.write(out, version)
        out.append(0)


class ListPartitionReassignmentsResponse(Message):
    KEY: ClassVar[int] = 46
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    topics: list[OngoingTopicReassignment] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ListPartitionReassignmentsResponse, int]:
        throttle_time_ms, error_code = _PACKED_1.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        topics: list[OngoingTopicReassignment] = []
        for _ in range(count):
            topics_item, at = OngoingTopicReassignment.read(buf, at, version)
            topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ListPartitionReassignmentsResponse(
            throttle_time_ms,
            error_code,
            error_message,
            topics,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.throttle_time_ms, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(0)
