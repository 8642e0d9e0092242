"""Generated from definitions/k68_consumer_group_heartbeat.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    absent,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_numbers,
    read_presence,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_presence,
)

_PACKED_0 = Packed(">16s")
_PACKED_1 = Packed(">i")
_PACKED_2 = Packed(">ih")
_PACKED_3 = Packed(">ii")


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


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Assignment, int]:
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
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


class ConsumerGroupHeartbeatRequest(Message):
    KEY: ClassVar[int] = 68
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 1, "string"),
        (0, 1, "string"),
        (0, 1, 4),
        (0, 1, "string"),
        (0, 1, "string"),
        (0, 1, 4),
        (0, 1, ("list", "string")),
        (1, 1, "string"),
        (0, 1, "string"),
        (0, 1, ("list", ((0, 1, 16), (0, 1, ("list", 4)),))),
    )
    group_id: str = ""
    member_id: str = ""
    member_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: list[str] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    topic_partitions: list[TopicPartitions] | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ConsumerGroupHeartbeatRequest, int]:
        group_id, at = read_compact_string(buf, at)
        member_id, at = read_compact_string(buf, at)
        (member_epoch,) = _PACKED_1.unpack_from(buf, at)
        at += 4
        instance_id, at = read_compact_nullable_string(buf, at)
        rack_id, at = read_compact_nullable_string(buf, at)
        (rebalance_timeout_ms,) = _PACKED_1.unpack_from(buf, at)
        at += 4
        count, at = read_compact_nullable_count(buf, at, 1)
        subscribed_topic_names: list[str] | None = None
        if count >= 0:
            subscribed_topic_names = []
            for _ in range(count):
                subscribed_topic_names_item, at = read_compact_string(buf, at)
                subscribed_topic_names.append(subscribed_topic_names_item)
        subscribed_topic_regex: str | None = None
        if version >= 1:
            subscribed_topic_regex, at = read_compact_nullable_string(buf, at)
        server_assignor, at = read_compact_nullable_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_nullable_count(buf, at, 18)
        topic_partitions: list[TopicPartitions] | None = None
        if count >= 0:
            topic_partitions = []
            for _ in range(count):
                topic_partitions_item, at = TopicPartitions.read(buf, at, version)
                topic_partitions.append(topic_partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ConsumerGroupHeartbeatRequest(
            group_id,
            member_id,
            member_epoch,
            instance_id,
            rack_id,
            rebalance_timeout_ms,
            subscribed_topic_names,
            subscribed_topic_regex,
            server_assignor,
            topic_partitions,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.group_id)
        write_compact_string(out, self.member_id)
        out += _PACKED_1.pack(self.member_epoch)
        write_compact_nullable_string(out, self.instance_id)
        write_compact_nullable_string(out, self.rack_id)
        out += _PACKED_1.pack(self.rebalance_timeout_ms)
        write_compact_count(out, -1 if self.subscribed_topic_names is None else len(self.subscribed_topic_names))
        for subscribed_topic_names_item in self.subscribed_topic_names or ():
            write_compact_string(out, subscribed_topic_names_item)
        if version >= 1:
            write_compact_nullable_string(out, self.subscribed_topic_regex)
        elif self.subscribed_topic_regex is not None:
            raise absent(version, "subscribed_topic_regex")
        write_compact_nullable_string(out, self.server_assignor)
        write_compact_count(out, -1 if self.topic_partitions is None else len(self.topic_partitions))
        for topic_partitions_item in self.topic_partitions or ():
            topic_partitions_item.write(out, version)
        out.append(0)


class ConsumerGroupHeartbeatResponse(Message):
    KEY: ClassVar[int] = 68
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ConsumerGroupHeartbeatResponse, int]:
        throttle_time_ms, error_code = _PACKED_2.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        member_id, at = read_compact_nullable_string(buf, at)
        member_epoch, heartbeat_interval_ms = _PACKED_3.unpack_from(buf, at)
        at += 8
        assignment: Assignment | None = None
        present, at = read_presence(buf, at)
        if present:
            assignment, at = Assignment.read(buf, at, version)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ConsumerGroupHeartbeatResponse(
            throttle_time_ms,
            error_code,
            error_message,
            member_id,
            member_epoch,
            heartbeat_interval_ms,
            assignment,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.throttle_time_ms, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        write_compact_nullable_string(out, self.member_id)
        out += _PACKED_3.pack(self.member_epoch, self.heartbeat_interval_ms)
        write_presence(out, self.assignment)
        if self.assignment is not None:
            self.assignment.write(out, version)
        out.append(0)
