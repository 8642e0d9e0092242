"""Generated from definitions/stored/share_group_target_assignment_member.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    read_compact_count,
    read_numbers,
    read_string,
    skip_tagged,
    write_compact_count,
    write_string,
)
from penstock.wire.stored_codec import StoredKey, Versioned

_PACKED_0 = Packed(">16s")
_PACKED_1 = Packed(">i")


class TopicPartition(Struct):
    topic_id: bytes = NULL_UUID
    partitions: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TopicPartition, int]:
        (topic_id,) = _PACKED_0.unpack_from(buf, at)
        at += 16
        count, at = read_compact_count(buf, at, 4)
        partitions, at = read_numbers(buf, at, count, "i", 4)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return TopicPartition(topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.topic_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            out += _PACKED_1.pack(partitions_item)
        out.append(0)


class ShareGroupTargetAssignmentMemberValue(Versioned):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    topic_partitions: list[TopicPartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareGroupTargetAssignmentMemberValue, int]:
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
        topic_partitions: list[TopicPartition] = []
        for _ in range(count):
            topic_partitions_item, at = TopicPartition.read(buf, at, version)
            topic_partitions.append(topic_partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ShareGroupTargetAssignmentMemberValue(topic_partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.topic_partitions))
        for topic_partitions_item in self.topic_partitions:
            topic_partitions_item.write(out, version)
        out.append(0)


class ShareGroupTargetAssignmentMemberKey(StoredKey):
    TYPE: ClassVar[int] = 13
    VALUE: ClassVar[type[ShareGroupTargetAssignmentMemberValue]] = ShareGroupTargetAssignmentMemberValue
    group_id: str = ""
    member_id: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareGroupTargetAssignmentMemberKey, int]:
        group_id, at = read_string(buf, at)
        member_id, at = read_string(buf, at)
        return ShareGroupTargetAssignmentMemberKey(group_id, member_id), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.group_id)
        write_string(out, self.member_id)
