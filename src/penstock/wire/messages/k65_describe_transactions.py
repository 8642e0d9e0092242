"""Generated from definitions/k65_describe_transactions.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_compact_count,
    read_compact_string,
    read_numbers,
    skip_tagged,
    write_compact_count,
    write_compact_string,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">h")
_PACKED_2 = Packed(">iqqh")


class TopicData(Struct):
    topic: str = ""
    partitions: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TopicData, int]:
        topic, at = read_compact_string(buf, at)
        count, at = read_compact_count(buf, at, 4)
        partitions, at = read_numbers(buf, at, count, "i", 4)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return TopicData(topic, partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.topic)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            out += _PACKED_0.pack(partitions_item)
        out.append(0)


class TransactionState(Struct):
    error_code: int = 0
    transactional_id: str = ""
    transaction_state: str = ""
    transaction_timeout_ms: int = 0
    transaction_start_time_ms: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    topics: list[TopicData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TransactionState, int]:
        (error_code,) = _PACKED_1.unpack_from(buf, at)
        at += 2
        transactional_id, at = read_compact_string(buf, at)
        transaction_state, at = read_compact_string(buf, at)
        transaction_timeout_ms, transaction_start_time_ms, producer_id, producer_epoch = _PACKED_2.unpack_from(buf, at)
        at += 22
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        topics: list[TopicData] = []
        for _ in range(count):
            topics_item, at = TopicData.read(buf, at, version)
            topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return TransactionState(
            error_code,
            transactional_id,
            transaction_state,
            transaction_timeout_ms,
            transaction_start_time_ms,
            producer_id,
            producer_epoch,
            topics,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.error_code)
        write_compact_string(out, self.transactional_id)
        write_compact_string(out, self.transaction_state)
        out += _PACKED_2.pack(self.transaction_timeout_ms, self.transaction_start_time_ms, self.producer_id, self.producer_epoch)
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(0)


class DescribeTransactionsRequest(Message):
    KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 0, ("list", "string")),
    )
    transactional_ids: list[str] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeTransactionsRequest, int]:
        count, at = read_compact_count(buf, at, 1)
        transactional_ids: list[str] = []
        for _ in range(count):
            transactional_ids_item, at = read_compact_string(buf, at)
            transactional_ids.append(transactional_ids_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeTransactionsRequest(transactional_ids), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.transactional_ids))
        for transactional_ids_item in self.transactional_ids:
            write_compact_string(out, transactional_ids_item)
        out.append(0)


class DescribeTransactionsResponse(Message):
    KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    transaction_states: list[TransactionState] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeTransactionsResponse, int]:
        (throttle_time_ms,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 28)
        transaction_states: list[TransactionState] = []
        for _ in range(count):
            transaction_states_item, at = TransactionState.read(buf, at, version)
            transaction_states.append(transaction_states_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeTransactionsResponse(throttle_time_ms, transaction_states), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.throttle_time_ms)
        write_compact_count(out, len(self.transaction_states))
        for transaction_states_item in self.transaction_states:
            transaction_states_item.write(out, version)
        out.append(0)
