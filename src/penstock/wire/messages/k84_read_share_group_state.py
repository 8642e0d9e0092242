"""Generated from definitions/k84_read_share_group_state.txt; do not edit."""

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
_PACKED_2 = Packed(">qqbh")
_PACKED_3 = Packed(">h")
_PACKED_4 = Packed(">ih")
_PACKED_5 = Packed(">iq")


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


class ReadStateData(Struct):
    topic_id: bytes = NULL_UUID
    partitions: list[PartitionData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ReadStateData, int]:
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
        return ReadStateData(topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.topic_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class StateBatch(Struct):
    first_offset: int = 0
    last_offset: int = 0
    delivery_state: int = 0
    delivery_count: int = 0
    rejected_after: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[StateBatch, int]:
        first_offset, last_offset, delivery_state, delivery_count = _PACKED_2.unpack_from(buf, at)
        at += 19
        rejected_after: int = 0
        if buf[at]:
            count, at = read_tag_count(buf, at)
            for _ in range(count):
                tag, at, end = read_tag(buf, at)
                if tag == 10000:
                    (rejected_after,) = _PACKED_3.unpack_from(buf, at)
                    at += 2
                else:
                    at = end
                check_tag(at, end)
        else:
            at += 1
        return StateBatch(
            first_offset,
            last_offset,
            delivery_state,
            delivery_count,
            rejected_after,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.first_offset, self.last_offset, self.delivery_state, self.delivery_count)
        tagged: list[tuple[int, Sink]] = []
        if self.rejected_after != 0:
            value = Sink()
            value += _PACKED_3.pack(self.rejected_after)
            tagged.append((10000, value))
        if tagged:
            write_tagged(out, tagged)
        else:
            out.append(0)


class PartitionResult(Struct):
    partition: int = 0
    error_code: int = 0
    error_message: str | None = None
    state_epoch: int = 0
    start_offset: int = 0
    state_batches: list[StateBatch] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[PartitionResult, int]:
        partition, error_code = _PACKED_4.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        state_epoch, start_offset = _PACKED_5.unpack_from(buf, at)
        at += 12
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 20)
        state_batches: list[StateBatch] = []
        for _ in range(count):
            state_batches_item, at = StateBatch.read(buf, at, version)
            state_batches.append(state_batches_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return PartitionResult(
            partition,
            error_code,
            error_message,
            state_epoch,
            start_offset,
            state_batches,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_4.pack(self.partition, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        out += _PACKED_5.pack(self.state_epoch, self.start_offset)
        write_compact_count(out, len(self.state_batches))
        for state_batches_item in self.state_batches:
            state_batches_item.write(out, version)
        out.append(0)


class ReadStateResult(Struct):
    topic_id: bytes = NULL_UUID
    partitions: list[PartitionResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ReadStateResult, int]:
        (topic_id,) = _PACKED_1.unpack_from(buf, at)
        at += 16
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 21)
        partitions: list[PartitionResult] = []
        for _ in range(count):
            partitions_item, at = PartitionResult.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ReadStateResult(topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.topic_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class ReadShareGroupStateRequest(Message):
    KEY: ClassVar[int] = 84
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 0, "string"),
        (0, 0, ("list", ((0, 0, 16), (0, 0, ("list", ((0, 0, 8),))),))),
    )
    group_id: str = ""
    topics: list[ReadStateData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ReadShareGroupStateRequest, int]:
        group_id, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
        topics: list[ReadStateData] = []
        for _ in range(count):
            topics_item, at = ReadStateData.read(buf, at, version)
            topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ReadShareGroupStateRequest(group_id, topics), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.group_id)
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(0)


class ReadShareGroupStateResponse(Message):
    KEY: ClassVar[int] = 84
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    results: list[ReadStateResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ReadShareGroupStateResponse, int]:
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
        results: list[ReadStateResult] = []
        for _ in range(count):
            results_item, at = ReadStateResult.read(buf, at, version)
            results.append(results_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ReadShareGroupStateResponse(results), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.results))
        for results_item in self.results:
            results_item.write(out, version)
        out.append(0)
