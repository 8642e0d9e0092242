"""Generated from definitions/k43_elect_leaders.txt; do not edit."""

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
    read_count,
    read_nullable_count,
    read_nullable_string,
    read_numbers,
    read_string,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_nullable_string,
    write_string,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">ih")
_PACKED_2 = Packed(">b")


class TopicPartitions(Struct):
    topic: str = ""
    partitions: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TopicPartitions, int]:
        if version >= 2:
            topic, at = read_compact_string(buf, at)
        else:
            topic, at = read_string(buf, at)
        if version >= 2:
            count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 4)
        partitions, at = read_numbers(buf, at, count, "i", 4)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return TopicPartitions(topic, partitions), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_string(out, self.topic)
        else:
            write_string(out, self.topic)
        if version >= 2:
            write_compact_count(out, len(self.partitions))
        else:
            write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            out += _PACKED_0.pack(partitions_item)
        if version >= 2:
            out.append(0)


class PartitionResult(Struct):
    partition_id: int = 0
    error_code: int = 0
    error_message: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[PartitionResult, int]:
        partition_id, error_code = _PACKED_1.unpack_from(buf, at)
        at += 6
        error_message: str | None
        if version >= 2:
            error_message, at = read_compact_nullable_string(buf, at)
        else:
            error_message, at = read_nullable_string(buf, at)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return PartitionResult(partition_id, error_code, error_message), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.partition_id, self.error_code)
        if version >= 2:
            write_compact_nullable_string(out, self.error_message)
        else:
            write_nullable_string(out, self.error_message)
        if version >= 2:
            out.append(0)


class ReplicaElectionResult(Struct):
    topic: str = ""
    partition_result: list[PartitionResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ReplicaElectionResult, int]:
        if version >= 2:
            topic, at = read_compact_string(buf, at)
        else:
            topic, at = read_string(buf, at)
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 8)
        else:
            count, at = read_count(buf, at, 8)
        partition_result: list[PartitionResult] = []
        for _ in range(count):
            partition_result_item, at = PartitionResult.read(buf, at, version)
            partition_result.append(partition_result_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return ReplicaElectionResult(topic, partition_result), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_string(out, self.topic)
        else:
            write_string(out, self.topic)
        if version >= 2:
            write_compact_count(out, len(self.partition_result))
        else:
            write_count(out, len(self.partition_result))
        for partition_result_item in self.partition_result:
            partition_result_item.write(out, version)
        if version >= 2:
            out.append(0)


class ElectLeadersRequest(Message):
    KEY: ClassVar[int] = 43
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2
    SHAPE: ClassVar[Shape] = (
        (1, 2, 1),
        (0, 2, ("list", ((0, 2, "string"), (0, 2, ("list", 4)),))),
        (0, 2, 4),
    )
    election_type: int = 0
    topic_partitions: list[TopicPartitions] | None = []
    timeout_ms: int = 60000

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ElectLeadersRequest, int]:
        election_type: int = 0
        if version >= 1:
            (election_type,) = _PACKED_2.unpack_from(buf, at)
            at += 1
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_nullable_count(buf, at, 3)
        else:
            count, at = read_nullable_count(buf, at, 6)
        topic_partitions: list[TopicPartitions] | None = None
        if count >= 0:
            topic_partitions = []
            for _ in range(count):
                topic_partitions_item, at = TopicPartitions.read(buf, at, version)
                topic_partitions.append(topic_partitions_item)
        (timeout_ms,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return ElectLeadersRequest(election_type, topic_partitions, timeout_ms), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            out += _PACKED_2.pack(self.election_type)
        elif self.election_type != 0:
            raise absent(version, "election_type")
        if version >= 2:
            write_compact_count(out, -1 if self.topic_partitions is None else len(self.topic_partitions))
        else:
            write_count(out, -1 if self.topic_partitions is None else len(self.topic_partitions))
        for topic_partitions_item in self.topic_partitions or ():
            topic_partitions_item.write(out, version)
        out += _PACKED_0.pack(self.timeout_ms)
        if version >= 2:
            out.append(0)


class ElectLeadersResponse(Message):
    KEY: ClassVar[int] = 43
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2
    throttle_time_ms: int = 0
    error_code: int = 0
    replica_election_results: list[ReplicaElectionResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ElectLeadersResponse, int]:
        if version >= 1:
            throttle_time_ms, error_code = _PACKED_1.unpack_from(buf, at)
            at += 6
        else:
            (throttle_time_ms,) = _PACKED_0.unpack_from(buf, at)
            at += 4
            error_code = 0
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        replica_election_results: list[ReplicaElectionResult] = []
        for _ in range(count):
            replica_election_results_item, at = ReplicaElectionResult.read(buf, at, version)
            replica_election_results.append(replica_election_results_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return ElectLeadersResponse(throttle_time_ms, error_code, replica_election_results), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            out += _PACKED_1.pack(self.throttle_time_ms, self.error_code)
        else:
            out += _PACKED_0.pack(self.throttle_time_ms)
        if version >= 2:
            write_compact_count(out, len(self.replica_election_results))
        else:
            write_count(out, len(self.replica_election_results))
        for replica_election_results_item in self.replica_election_results:
            replica_election_results_item.write(out, version)
        if version >= 2:
            out.append(0)
