"""Generated from definitions/stored/share_group_current_member_assignment.txt; do not edit."""

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
_PACKED_2 = Packed(">iib")


class TopicPartitions(Struct):
    topic_id: bytes = NULL_UUID
    partitions: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TopicPartitions, int]:
        (topic_id,) = _PACKED_0.unpack_from(buf, at)
        at += 16
        count, at = read_compact_count(buf, at, 4)
        partitions, at = read_numbers(buf, at, count, "i", 4)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return TopicPartitions(topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.topic_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            out += _PACKED_1.pack(partitions_item)
        out.append(0)


class ShareGroupCurrentMemberAssignmentValue(Versioned):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: int = 0
    assigned_partitions: list[TopicPartitions] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareGroupCurrentMemberAssignmentValue, int]:
        member_epoch, previous_member_epoch, state = _PACKED_2.unpack_from(buf, at)
        at += 9
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
        assigned_partitions: list[TopicPartitions] = []
        for _ in range(count):
            assigned_partitions_item, at = TopicPartitions.read(buf, at, version)
            assigned_partitions.append(assigned_partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ShareGroupCurrentMemberAssignmentValue(
            member_epoch,
            previous_member_epoch,
            state,
            assigned_partitions,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.member_epoch, self.previous_member_epoch, self.state)
        write_compact_count(out, len(self.assigned_partitions))
        for assigned_partitions_item in self.assigned_partitions:
            assigned_partitions_item.write(out, version)
        out.append(0)


class ShareGroupCurrentMemberAssignmentKey(StoredKey):
    TYPE: ClassVar[int] = 14
    VALUE: ClassVar[type[ShareGroupCurrentMemberAssignmentValue]] = ShareGroupCurrentMemberAssignmentValue
    group_id: str = ""
    member_id: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareGroupCurrentMemberAssignmentKey, int]:
        group_id, at = read_string(buf, at)
        member_id, at = read_string(buf, at)
        return ShareGroupCurrentMemberAssignmentKey(group_id, member_id), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.group_id)
        write_string(out, self.member_id)
