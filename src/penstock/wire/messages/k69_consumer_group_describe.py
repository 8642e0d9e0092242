"""Generated from definitions/k69_consumer_group_describe.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct, field

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    NULL_UUID,
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

_PACKED_0 = Packed(">16s")
_PACKED_1 = Packed(">i")
_PACKED_2 = Packed(">b")
_PACKED_3 = Packed(">h")
_PACKED_4 = Packed(">ii")
_PACKED_5 = Packed(">?")


class TopicPartitions(Struct):
    topic_id: bytes = NULL_UUID
    topic_name: str = ""
    partitions: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TopicPartitions, int]:
        (topic_id,) = _PACKED_0.unpack_from(buf, at)
        at += 16
        topic_name, at = read_compact_string(buf, at)
        count, at = read_compact_count(buf, at, 4)
        partitions, at = read_numbers(buf, at, count, "i", 4)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return TopicPartitions(topic_id, topic_name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.topic_id)
        write_compact_string(out, self.topic_name)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            out += _PACKED_1.pack(partitions_item)
        out.append(0)


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Assignment, int]:
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 19)
        topic_partitions: list[TopicPartitions] = []
        for _ in range(count):
            topic_partitions_item, at = TopicPartitions.read(buf, at, version)
            topic_partitions.append(topic_partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return Assignment(topic_partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.topic_partitions))
        for topic_partitions_item in self.topic_partitions:
            topic_partitions_item.write(out, version)
        out.append(0)


class Member(Struct):
    member_id: str = ""
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: int = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = []
    subscribed_topic_regex: str | None = None
    assignment: Assignment = field(default_factory=Assignment)
    target_assignment: Assignment = field(default_factory=Assignment)
    member_type: int = -1

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Member, int]:
        member_id, at = read_compact_string(buf, at)
        instance_id, at = read_compact_nullable_string(buf, at)
        rack_id, at = read_compact_nullable_string(buf, at)
        (member_epoch,) = _PACKED_1.unpack_from(buf, at)
        at += 4
        client_id, at = read_compact_string(buf, at)
        client_host, at = read_compact_string(buf, at)
        count, at = read_compact_count(buf, at, 1)
        subscribed_topic_names: list[str] = []
        for _ in range(count):
            subscribed_topic_names_item, at = read_compact_string(buf, at)
            subscribed_topic_names.append(subscribed_topic_names_item)
        subscribed_topic_regex, at = read_compact_nullable_string(buf, at)
        assignment, at = Assignment.read(buf, at, version)
        target_assignment, at = Assignment.read(buf, at, version)
        member_type: int = -1
        if version >= 1:
            (member_type,) = _PACKED_2.unpack_from(buf, at)
            at += 1
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return Member(
            member_id,
            instance_id,
            rack_id,
            member_epoch,
            client_id,
            client_host,
            subscribed_topic_names,
            subscribed_topic_regex,
            assignment,
            target_assignment,
            member_type,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.member_id)
        write_compact_nullable_string(out, self.instance_id)
        write_compact_nullable_string(out, self.rack_id)
        out += _PACKED_1.pack(self.member_epoch)
        write_compact_string(out, self.client_id)
        write_compact_string(out, self.client_host)
        write_compact_count(out, len(self.subscribed_topic_names))
        for subscribed_topic_names_item in self.subscribed_topic_names:
            write_compact_string(out, subscribed_topic_names_item)
        write_compact_nullable_string(out, self.subscribed_topic_regex)
        self.assignment.write(out, version)
        self.target_assignment.write(out, version)
        if version >= 1:
            out += _PACKED_2.pack(self.member_type)
        out.append(0)


class DescribedGroup(Struct):
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: list[Member] = []
    authorized_operations: int = -2147483648

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribedGroup, int]:
        (error_code,) = _PACKED_3.unpack_from(buf, at)
        at += 2
        error_message, at = read_compact_nullable_string(buf, at)
        group_id, at = read_compact_string(buf, at)
        group_state, at = read_compact_string(buf, at)
        group_epoch, assignment_epoch = _PACKED_4.unpack_from(buf, at)
        at += 8
        assignor_name, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 16)
        members: list[Member] = []
        for _ in range(count):
            members_item, at = Member.read(buf, at, version)
            members.append(members_item)
        (authorized_operations,) = _PACKED_1.unpack_from(buf, at)
        at += 4
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribedGroup(
            error_code,
            error_message,
            group_id,
            group_state,
            group_epoch,
            assignment_epoch,
            assignor_name,
            members,
            authorized_operations,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_3.pack(self.error_code)
        write_compact_nullable_string(out, self.error_message)
        write_compact_string(out, self.group_id)
        write_compact_string(out, self.group_state)
        out += _PACKED_4.pack(self.group_epoch, self.assignment_epoch)
        write_compact_string(out, self.assignor_name)
        write_compact_count(out, len(self.members))
        for members_item in self.members:
            members_item.write(out, version)
        out += _PACKED_1.pack(self.authorized_operations)
        out.append(0)


class ConsumerGroupDescribeRequest(Message):
    KEY: ClassVar[int] = 69
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 1, ("list", "string")),
        (0, 1, 1),
    )
    group_ids: list[str] = []
    include_authorized_operations: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ConsumerGroupDescribeRequest, int]:
        count, at = read_compact_count(buf, at, 1)
        group_ids: list[str] = []
        for _ in range(count):
            group_ids_item, at = read_compact_string(buf, at)
            group_ids.append(group_ids_item)
        (include_authorized_operations,) = _PACKED_5.unpack_from(buf, at)
        at += 1
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ConsumerGroupDescribeRequest(group_ids, include_authorized_operations), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.group_ids))
        for group_ids_item in self.group_ids:
            write_compact_string(out, group_ids_item)
        out += _PACKED_5.pack(self.include_authorized_operations)
        out.append(0)


class ConsumerGroupDescribeResponse(Message):
    KEY: ClassVar[int] = 69
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    groups: list[DescribedGroup] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ConsumerGroupDescribeResponse, int]:
        (throttle_time_ms,) = _PACKED_1.unpack_from(buf, at)
        at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 20)
        groups: list[DescribedGroup] = []
        for _ in range(count):
            groups_item, at = DescribedGroup.read(buf, at, version)
            groups.append(groups_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ConsumerGroupDescribeResponse(throttle_time_ms, groups), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.throttle_time_ms)
        write_compact_count(out, len(self.groups))
        for groups_item in self.groups:
            groups_item.write(out, version)
        out.append(0)
