"""Generated from definitions/stored/consumer_protocol_assignment.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.primitives import (
    Sink,
    read_count,
    read_nullable_bytes,
    read_numbers,
    read_string,
    write_count,
    write_nullable_bytes,
    write_string,
)
from penstock.wire.stored_codec import Versioned

_PACKED_0 = Packed(">i")


class TopicPartition(Struct):
    topic: str = ""
    partitions: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TopicPartition, int]:
        topic, at = read_string(buf, at)
        count, at = read_count(buf, at, 4)
        partitions, at = read_numbers(buf, at, count, "i", 4)
        return TopicPartition(topic, partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.topic)
        write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            out += _PACKED_0.pack(partitions_item)


class ConsumerProtocolAssignment(Versioned):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    assigned_partitions: list[TopicPartition] = []
    user_data: bytes | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ConsumerProtocolAssignment, int]:
        count, at = read_count(buf, at, 6)
        assigned_partitions: list[TopicPartition] = []
        for _ in range(count):
            assigned_partitions_item, at = TopicPartition.read(buf, at, version)
            assigned_partitions.append(assigned_partitions_item)
        user_data, at = read_nullable_bytes(buf, at)
        return ConsumerProtocolAssignment(assigned_partitions, user_data), at

    def write(self, out: Sink, version: int) -> None:
        write_count(out, len(self.assigned_partitions))
        for assigned_partitions_item in self.assigned_partitions:
            assigned_partitions_item.write(out, version)
        write_nullable_bytes(out, self.user_data)
