"""Generated from definitions/k85_write_share_group_state.txt; do not edit."""

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

_PACKED_0 = Packed(">qqbh")
_PACKED_1 = Packed(">h")
_PACKED_2 = Packed(">iiiqi")
_PACKED_3 = Packed(">iiiq")
_PACKED_4 = Packed(">16s")
_PACKED_5 = Packed(">ih")


class StateBatch(Struct):
    first_offset: int = 0
    last_offset: int = 0
    delivery_state: int = 0
    delivery_count: int = 0
    rejected_after: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[StateBatch, int]:
        first_offset, last_offset, delivery_state, delivery_count = _PACKED_0.unpack_from(buf, at)
        at += 19
        rejected_after: int = 0
        if buf[at]:
            count, at = read_tag_count(buf, at)
            for _ in range(count):
                tag, at, end = read_tag(buf, at)
                if tag == 10000:
                    (rejected_after,) = _PACKED_1.unpack_from(buf, at)
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
        out += _PACKED_0.pack(self.first_offset, self.last_offset, self.delivery_state, self.delivery_count)
        tagged: list[tuple[int, Sink]] = []
        if self.rejected_after != 0:
            value = Sink()
            value += _PACKED_1.pack(self.rejected_after)
            tagged.append((10000, value))
        if tagged:
            write_tagged(out, tagged)
        else:
            out.append(0)


class PartitionData(Struct):
    partition: int = 0
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = -1
    state_batches: list[StateBatch] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[PartitionData, int]:
        if version >= 1:
            partition, state_epoch, leader_epoch, start_offset, delivery_complete_count = _PACKED_2.unpack_from(buf, at)
            at += 24
        else:
            partition, state_epoch, leader_epoch, start_offset = _PACKED_3.unpack_from(buf, at)
            at += 20
            delivery_complete_count = -1
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
        return PartitionData(
            partition,
            state_epoch,
            leader_epoch,
            start_offset,
            delivery_complete_count,
            state_batches,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            out += _PACKED_2.pack(self.partition, self.state_epoch, self.leader_epoch, self.start_offset, self.delivery_complete_count)
        else:
            out += _PACKED_3.pack(self.partition, self.state_epoch, self.leader_epoch, self.start_offset)
            if self.delivery_complete_count != -1:
                raise absent(version, "delivery_complete_count")
        write_compact_count(out, len(self.state_batches))
        for state_batches_item in self.state_batches:
            state_batches_item.write(out, version)
        out.append(0)


class WriteStateData(Struct):
    topic_id: bytes = NULL_UUID
    partitions: list[PartitionData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[WriteStateData, int]:
        (topic_id,) = _PACKED_4.unpack_from(buf, at)
        at += 16
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 22)
        partitions: list[PartitionData] = []
        for _ in range(count):
            partitions_item, at = PartitionData.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return WriteStateData(topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_4.pack(self.topic_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class PartitionResult(Struct):
    partition: int = 0
    error_code: int = 0
    error_message: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[PartitionResult, int]:
        partition, error_code = _PACKED_5.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return PartitionResult(partition, error_code, error_message), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_5.pack(self.partition, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        out.append(0)


class WriteStateResult(Struct):
    topic_id: bytes = NULL_UUID
    partitions: list[PartitionResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[WriteStateResult, int]:
        (topic_id,) = _PACKED_4.unpack_from(buf, at)
        at += 16
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 8)
        partitions: list[PartitionResult] = []
        for _ in range(count):
            partitions_item, at = PartitionResult.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return WriteStateResult(topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_4.pack(self.topic_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class WriteShareGroupStateRequest(Message):
    KEY: ClassVar[int] = 85
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 1, "string"),
        (0, 1, ("list", ((0, 1, 16), (0, 1, ("list", ((0, 1, 20), (1, 1, 4), (0, 1, ("list", ((0, 1, 19),))),))),))),
    )
    group_id: str = ""
    topics: list[WriteStateData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[WriteShareGroupStateRequest, int]:
        group_id, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
        topics: list[WriteStateData] = []
        for _ in range(count):
            topics_item, at = WriteStateData.read(buf, at, version)
            topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return WriteShareGroupStateRequest(group_id, topics), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.group_id)
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(0)


class WriteShareGroupStateResponse(Message):
    KEY: ClassVar[int] = 85
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0
    results: list[WriteStateResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[WriteShareGroupStateResponse, int]:
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
        results: list[WriteStateResult] = []
        for _ in range(count):
            results_item, at = WriteStateResult.read(buf, at, version)
            results.append(results_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return WriteShareGroupStateResponse(results), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.results))
        for results_item in self.results:
            results_item.write(out, version)
        out.append(0)
