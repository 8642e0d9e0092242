"""Generated from definitions/k61_describe_producers.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_numbers,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">qiiqiq")
_PACKED_2 = Packed(">ih")


class TopicRequest(Struct):
    name: str = ""
    partition_indexes: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TopicRequest, int]:
        name, at = read_compact_string(buf, at)
        count, at = read_compact_count(buf, at, 4)
        partition_indexes, at = read_numbers(buf, at, count, "i", 4)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return TopicRequest(name, partition_indexes), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        write_compact_count(out, len(self.partition_indexes))
        for partition_indexes_item in self.partition_indexes:
            out += _PACKED_0.pack(partition_indexes_item)
        out.append(0)


class ProducerState(Struct):
    producer_id: int = 0
    producer_epoch: int = 0
    last_sequence: int = -1
    last_timestamp: int = -1
    coordinator_epoch: int = 0
    current_txn_start_offset: int = -1

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ProducerState, int]:
        producer_id, producer_epoch, last_sequence, last_timestamp, coordinator_epoch, current_txn_start_offset = _PACKED_1.unpack_from(buf, at)
        at += 36
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ProducerState(
            producer_id,
            producer_epoch,
            last_sequence,
            last_timestamp,
            coordinator_epoch,
            current_txn_start_offset,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.producer_id, self.producer_epoch, self.last_sequence, self.last_timestamp, self.coordinator_epoch, self.current_txn_start_offset)
        out.append(0)


class PartitionResponse(Struct):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    active_producers: list[ProducerState] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[PartitionResponse, int]:
        partition_index, error_code = _PACKED_2.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 37)
        active_producers: list[ProducerState] = []
        for _ in range(count):
            active_producers_item, at = ProducerState.read(buf, at, version)
            active_producers.append(active_producers_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return PartitionResponse(
            partition_index,
            error_code,
            error_message,
            active_producers,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.partition_index, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        write_compact_count(out, len(self.active_producers))
        for active_producers_item in self.active_producers:
            active_producers_item.write(out, version)
        out.append(0)


class TopicResponse(Struct):
    name: str = ""
    partitions: list[PartitionResponse] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TopicResponse, int]:
        name, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 9)
        partitions: list[PartitionResponse] = []
        for _ in range(count):
            partitions_item, at = PartitionResponse.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return TopicResponse(name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class DescribeProducersRequest(Message):
    KEY: ClassVar[int] = 61
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 0, ("list", ((0, 0, "string"), (0, 0, ("list", 4)),))),
    )
    topics: list[TopicRequest] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeProducersRequest, int]:
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        topics: list[TopicRequest] = []
        for _ in range(count):
            topics_item, at = TopicRequest.read(buf, at, version)
            topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeProducersRequest(topics), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(0)


class DescribeProducersResponse(Message):
    KEY: ClassVar[int] = 61
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    topics: list[TopicResponse] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeProducersResponse, int]:
        (throttle_time_ms,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        topics: list[TopicResponse] = []
        for _ in range(count):
            topics_item, at = TopicResponse.read(buf, at, version)
            topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeProducersResponse(throttle_time_ms, topics), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.throttle_time_ms)
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(0)
