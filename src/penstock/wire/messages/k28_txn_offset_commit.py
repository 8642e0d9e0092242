"""Generated from definitions/k28_txn_offset_commit.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    absent,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_nullable_string,
    read_string,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_nullable_string,
    write_string,
)

_PACKED_0 = Packed(">iqi")
_PACKED_1 = Packed(">iq")
_PACKED_2 = Packed(">ih")
_PACKED_3 = Packed(">qhi")
_PACKED_4 = Packed(">qh")
_PACKED_5 = Packed(">i")


class TxnOffsetCommitRequestPartition(Struct):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    committed_metadata: str | None = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TxnOffsetCommitRequestPartition, int]:
        if version >= 2:
            partition_index, committed_offset, committed_leader_epoch = _PACKED_0.unpack_from(buf, at)
            at += 16
        else:
            partition_index, committed_offset = _PACKED_1.unpack_from(buf, at)
            at += 12
            committed_leader_epoch = -1
        committed_metadata: str | None
        if version >= 3:
            committed_metadata, at = read_compact_nullable_string(buf, at)
        else:
            committed_metadata, at = read_nullable_string(buf, at)
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return TxnOffsetCommitRequestPartition(
            partition_index,
            committed_offset,
            committed_leader_epoch,
            committed_metadata,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            out += _PACKED_0.pack(self.partition_index, self.committed_offset, self.committed_leader_epoch)
        else:
            out += _PACKED_1.pack(self.partition_index, self.committed_offset)
        if version >= 3:
            write_compact_nullable_string(out, self.committed_metadata)
        else:
            write_nullable_string(out, self.committed_metadata)
        if version >= 3:
            out.append(0)


class TxnOffsetCommitRequestTopic(Struct):
    name: str = ""
    partitions: list[TxnOffsetCommitRequestPartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TxnOffsetCommitRequestTopic, int]:
        if version >= 3:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        if version >= 3:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 18)
        else:
            count, at = read_count(buf, at, 14)
        partitions: list[TxnOffsetCommitRequestPartition] = []
        for _ in range(count):
            partitions_item, at = TxnOffsetCommitRequestPartition.read(buf, at, version)
            partitions.append(partitions_item)
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return TxnOffsetCommitRequestTopic(name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 3:
            write_compact_string(out, self.name)
        else:
            write_string(out, self.name)
        if version >= 3:
            write_compact_count(out, len(self.partitions))
        else:
            write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        if version >= 3:
            out.append(0)


class TxnOffsetCommitResponsePartition(Struct):
    partition_index: int = 0
    error_code: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TxnOffsetCommitResponsePartition, int]:
        partition_index, error_code = _PACKED_2.unpack_from(buf, at)
        at += 6
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return TxnOffsetCommitResponsePartition(partition_index, error_code), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.partition_index, self.error_code)
        if version >= 3:
            out.append(0)


class TxnOffsetCommitResponseTopic(Struct):
    name: str = ""
    partitions: list[TxnOffsetCommitResponsePartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TxnOffsetCommitResponseTopic, int]:
        if version >= 3:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        if version >= 3:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 7)
        else:
            count, at = read_count(buf, at, 6)
        partitions: list[TxnOffsetCommitResponsePartition] = []
        for _ in range(count):
            partitions_item, at = TxnOffsetCommitResponsePartition.read(buf, at, version)
            partitions.append(partitions_item)
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return TxnOffsetCommitResponseTopic(name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 3:
            write_compact_string(out, self.name)
        else:
            write_string(out, self.name)
        if version >= 3:
            write_compact_count(out, len(self.partitions))
        else:
            write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        if version >= 3:
            out.append(0)


class TxnOffsetCommitRequest(Message):
    KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 3
    SHAPE: ClassVar[Shape] = (
        (0, 5, "string"),
        (0, 5, "string"),
        (0, 5, 10),
        (3, 5, 4),
        (3, 5, "string"),
        (3, 5, "string"),
        (0, 5, ("list", ((0, 5, "string"), (0, 5, ("list", ((0, 5, 12), (2, 5, 4), (0, 5, "string"),))),))),
    )
    transactional_id: str = ""
    group_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    topics: list[TxnOffsetCommitRequestTopic] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TxnOffsetCommitRequest, int]:
        if version >= 3:
            transactional_id, at = read_compact_string(buf, at)
        else:
            transactional_id, at = read_string(buf, at)
        if version >= 3:
            group_id, at = read_compact_string(buf, at)
        else:
            group_id, at = read_string(buf, at)
        if version >= 3:
            producer_id, producer_epoch, generation_id = _PACKED_3.unpack_from(buf, at)
            at += 14
        else:
            producer_id, producer_epoch = _PACKED_4.unpack_from(buf, at)
            at += 10
            generation_id = -1
        member_id: str = ""
        if version >= 3:
            member_id, at = read_compact_string(buf, at)
        group_instance_id: str | None = None
        if version >= 3:
            group_instance_id, at = read_compact_nullable_string(buf, at)
        if version >= 3:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        topics: list[TxnOffsetCommitRequestTopic] = []
        for _ in range(count):
            topics_item, at = TxnOffsetCommitRequestTopic.read(buf, at, version)
            topics.append(topics_item)
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return TxnOffsetCommitRequest(
            transactional_id,
            group_id,
            producer_id,
            producer_epoch,
            generation_id,
            member_id,
            group_instance_id,
            topics,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 3:
            write_compact_string(out, self.transactional_id)
        else:
            write_string(out, self.transactional_id)
        if version >= 3:
            write_compact_string(out, self.group_id)
        else:
            write_string(out, self.group_id)
        if version >= 3:
            out += _PACKED_3.pack(self.producer_id, self.producer_epoch, self.generation_id)
        else:
            out += _PACKED_4.pack(self.producer_id, self.producer_epoch)
            if self.generation_id != -1:
                raise absent(version, "generation_id")
        if version >= 3:
            write_compact_string(out, self.member_id)
        elif self.member_id != "":
            raise absent(version, "member_id")
        if version >= 3:
            write_compact_nullable_string(out, self.group_instance_id)
        elif self.group_instance_id is not None:
            raise absent(version, "group_instance_id")
        if version >= 3:
            write_compact_count(out, len(self.topics))
        else:
            write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 3:
            out.append(0)


class TxnOffsetCommitResponse(Message):
    KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 3
    throttle_time_ms: int = 0
    topics: list[TxnOffsetCommitResponseTopic] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TxnOffsetCommitResponse, int]:
        (throttle_time_ms,) = _PACKED_5.unpack_from(buf, at)
        at += 4
        if version >= 3:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        topics: list[TxnOffsetCommitResponseTopic] = []
        for _ in range(count):
            topics_item, at = TxnOffsetCommitResponseTopic.read(buf, at, version)
            topics.append(topics_item)
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return TxnOffsetCommitResponse(throttle_time_ms, topics), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_5.pack(self.throttle_time_ms)
        if version >= 3:
            write_compact_count(out, len(self.topics))
        else:
            write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 3:
            out.append(0)
