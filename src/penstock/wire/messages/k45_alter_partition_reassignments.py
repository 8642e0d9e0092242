"""Generated from definitions/k45_alter_partition_reassignments.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    absent,
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
_PACKED_2 = Packed(">i?")
_PACKED_3 = Packed(">i?h")
_PACKED_4 = Packed(">h")


class ReassignablePartition(Struct):
    partition_index: int = 0
    replicas: list[int] | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ReassignablePartition, int]:
        (partition_index,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        count, at = read_compact_nullable_count(buf, at, 4)
        replicas: list[int] | None = None
        if count >= 0:
            replicas, at = read_numbers(buf, at, count, "i", 4)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ReassignablePartition(partition_index, replicas), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.partition_index)
        write_compact_count(out, -1 if self.replicas is None else len(self.replicas))
        for replicas_item in self.replicas or ():
            out += _PACKED_0.pack(replicas_item)
        out.append(0)


class ReassignableTopic(Struct):
    name: str = ""
    partitions: list[ReassignablePartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ReassignableTopic, int]:
        name, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 6)
        partitions: list[ReassignablePartition] = []
        for _ in range(count):
            partitions_item, at = ReassignablePartition.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ReassignableTopic(name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class ReassignablePartitionResponse(Struct):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ReassignablePartitionResponse, int]:
        partition_index, error_code = _PACKED_1.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ReassignablePartitionResponse(partition_index, error_code, error_message), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.partition_index, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        out.append(0)


class ReassignableTopicResponse(Struct):
    name: str = ""
    partitions: list[ReassignablePartitionResponse] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ReassignableTopicResponse, int]:
        name, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 8)
        partitions: list[ReassignablePartitionResponse] = []
        for _ in range(count):
            partitions_item, at = ReassignablePartitionResponse.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ReassignableTopicResponse(name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class AlterPartitionReassignmentsRequest(Message):
    KEY: ClassVar[int] = 45
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 1, 4),
        (1, 1, 1),
        (0, 1, ("list", ((0, 1, "string"), (0, 1, ("list", ((0, 1, 4), (0, 1, ("list", 4)),))),))),
    )
    timeout_ms: int = 60000
    allow_replication_factor_change: bool = True
    topics: list[ReassignableTopic] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterPartitionReassignmentsRequest, int]:
        if version >= 1:
            timeout_ms, allow_replication_factor_change = _PACKED_2.unpack_from(buf, at)
            at += 5
        else:
            (timeout_ms,) = _PACKED_0.unpack_from(buf, at)
            at += 4
            allow_replication_factor_change = True
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        topics: list[ReassignableTopic] = []
        for _ in range(count):
            topics_item, at = ReassignableTopic.read(buf, at, version)
            topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AlterPartitionReassignmentsRequest(
            timeout_ms,
            allow_replication_factor_change,
            topics,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            out += _PACKED_2.pack(self.timeout_ms, self.allow_replication_factor_change)
        else:
            out += _PACKED_0.pack(self.timeout_ms)
            if not self.allow_replication_factor_change:
                raise absent(version, "allow_replication_factor_change")
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(0)


class AlterPartitionReassignmentsResponse(Message):
    KEY: ClassVar[int] = 45
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    allow_replication_factor_change: bool = True
    error_code: int = 0
    error_message: str | None = None
    responses: list[ReassignableTopicResponse] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterPartitionReassignmentsResponse, int]:
        if version >= 1:
            throttle_time_ms, allow_replication_factor_change, error_code = _PACKED_3.unpack_from(buf, at)
            at += 7
        else:
            (throttle_time_ms,) = _PACKED_0.unpack_from(buf, at)
            at += 4
            allow_replication_factor_change = True
            (error_code,) = _PACKED_4.unpack_from(buf, at)
            at += 2
        error_message, at = read_compact_nullable_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        responses: list[ReassignableTopicResponse] = []
        for _ in range(count):
            responses_item, at = ReassignableTopicResponse.read(buf, at, version)
            responses.append(responses_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AlterPartitionReassignmentsResponse(
            throttle_time_ms,
            allow_replication_factor_change,
            error_code,
            error_message,
            responses,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            out += _PACKED_3.pack(self.throttle_time_ms, self.allow_replication_factor_change, self.error_code)
        else:
            out += _PACKED_0.pack(self.throttle_time_ms)
            out += _PACKED_4.pack(self.error_code)
        write_compact_nullable_string(out, self.error_message)
        write_compact_count(out, len(self.responses))
        for responses_item in self.responses:
            responses_item.write(out, version)
        out.append(0)
