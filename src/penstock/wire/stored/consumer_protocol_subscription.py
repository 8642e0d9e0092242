"""Generated from definitions/stored/consumer_protocol_subscription.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.primitives import (
    Sink,
    read_count,
    read_nullable_bytes,
    read_nullable_string,
    read_numbers,
    read_string,
    write_count,
    write_nullable_bytes,
    write_nullable_string,
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


class ConsumerProtocolSubscription(Versioned):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    topics: list[str] = []
    user_data: bytes | None = None
    owned_partitions: list[TopicPartition] = []
    generation_id: int = -1
    rack_id: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ConsumerProtocolSubscription, int]:
        count, at = read_count(buf, at, 2)
        topics: list[str] = []
        for _ in range(count):
            topics_item, at = read_string(buf, at)
            topics.append(topics_item)
        user_data, at = read_nullable_bytes(buf, at)
        owned_partitions: list[TopicPartition] = []
        if version >= 1:
            count, at = read_count(buf, at, 6)
            owned_partitions = []
            for _ in range(count):
                owned_partitions_item, at = TopicPartition.read(buf, at, version)
                owned_partitions.append(owned_partitions_item)
        generation_id: int = -1
        if version >= 2:
            (generation_id,) = _PACKED_0.unpack_from(buf, at)
            at += 4
        rack_id: str | None = None
        if version >= 3:
            rack_id, at = read_nullable_string(buf, at)
        return ConsumerProtocolSubscription(
            topics,
            user_data,
            owned_partitions,
            generation_id,
            rack_id,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_count(out, len(self.topics))
        for topics_item in self.topics:
            write_string(out, topics_item)
        write_nullable_bytes(out, self.user_data)
        if version >= 1:
            write_count(out, len(self.owned_partitions))
            for owned_partitions_item in self.owned_partitions:
                owned_partitions_item.write(out, version)
        if version >= 2:
            out += _PACKED_0.pack(self.generation_id)
        if version >= 3:
            write_nullable_string(out, self.rack_id)
