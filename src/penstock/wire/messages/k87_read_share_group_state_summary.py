"""Generated from definitions/k87_read_share_group_state_summary.txt; do not edit."""

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
    read_compact_nullable_string,
    read_compact_string,
    read_tag,
    read_tag_count,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_tagged,
)

_PACKED_0 = Packed(">ii")
_PACKED_1 = Packed(">16s")
_PACKED_2 = Packed(">ih")
_PACKED_3 = Packed(">iiqi")
_PACKED_4 = Packed(">iiq")
_PACKED_5 = Packed(">q")


class PartitionData(Struct):
    partition: int = 0
    leader_epoch: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[PartitionData, int]:
        partition, leader_epoch = _PACKED_0.unpack_from(buf, at)
        at += 8
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return PartitionData(partition, leader_epoch), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.partition, self.leader_epoch)
        out.append(0)


class ReadStateSummaryData(Struct):
    topic_id: bytes = NULL_UUID
    partitions: list[PartitionData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ReadStateSummaryData, int]:
        (topic_id,) = _PACKED_1.unpack_from(buf, at)
        at += 16
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 9)
        partitions: list[PartitionData] = []
        for _ in range(count):
            partitions_item, at = PartitionData.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ReadStateSummaryData(topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.topic_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class PartitionResult(Struct):
    partition: int = 0
    error_code: int = 0
    error_message: str | None = None
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = -1
    end_offset: int = -1

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[PartitionResult, int]:
        partition, error_code = _PACKED_2.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        if version >= 1:
            state_epoch, leader_epoch, start_offset, delivery_complete_count = _PACKED_3.unpack_from(buf, at)
            at += 20
        else:
            state_epoch, leader_epoch, start_offset = _PACKED_4.unpack_from(buf, at)
            at += 16
            delivery_complete_count = -1
        end_offset: int = -1
        if buf[at]:
            count, at = read_tag_count(buf, at)
            for _ in range(count):
                tag, at, end = read_tag(buf, at)
                if tag == 10000 and version >= 1:
                    (end_offset,) = _PACKED_5.unpack_from(buf, at)
                    at += 8
                else:
                    at = end
                check_tag(at, end)
        else:
            at += 1
        return PartitionResult(
            partition,
            error_code,
            error_message,
            state_epoch,
            leader_epoch,
            start_offset,
            delivery_complete_count,
            end_offset,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.partition, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        if version >= 1:
            out += _PACKED_3.pack(self.state_epoch, self.leader_epoch, self.start_offset, self.delivery_complete_count)
        else:
            out += _PACKED_4.pack(self.state_epoch, self.leader_epoch, self.start_offset)
        tagged: list[tuple[int, Sink]] = []
        if version >= 1:
            if self.end_offset != -1:
                value = Sink()
                value += _PACKED_5.pack(self.end_offset)
                tagged.append((10000, value))
        if tagged:
            write_tagged(out, tagged)
        else:
            out.append(0)


class ReadStateSummaryResult(Struct):
    topic_id: bytes = NULL_UUID
    partitions: list[PartitionResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ReadStateSummaryResult, int]:
        (topic_id,) = _PACKED_1.unpack_from(buf, at)
        at += 16
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 24)
        partitions: list[PartitionResult] = []
        for _ in range(count):
            partitions_item, at = PartitionResult.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ReadStateSummaryResult(topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.topic_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class ReadShareGroupStateSummaryRequest(Message):
    KEY: ClassVar[int] = 87
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 1, "string"),
        (0, 1, ("list", ((0, 1, 16), (0, 1, ("list", ((0, 1, 8),))),))),
    )
    group_id: str = ""
    topics: list[ReadStateSummaryData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ReadShareGroupStateSummaryRequest, int]:
        group_id, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
        topics: list[ReadStateSummaryData] = []
        for _ in range(count):
            topics_item, at = ReadStateSummaryData.read(buf, at, version)
            topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ReadShareGroupStateSummaryRequest(group_id, topics), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.group_id)
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(0)


class ReadShareGroupStateSummaryResponse(Message):
    KEY: ClassVar[int] = 87
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0
    results: list[ReadStateSummaryResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ReadShareGroupStateSummaryResponse, int]:
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
        results: list[ReadStateSummaryResult] = []
        for _ in range(count):
            results_item, at = ReadStateSummaryResult.read(buf, at, version)
            results.append(results_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ReadShareGroupStateSummaryResponse(results), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.results))
        for results_item in self.results:
            results_item.write(out, version)
        out.append(0)
