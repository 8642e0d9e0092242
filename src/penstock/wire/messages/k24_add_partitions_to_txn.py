"""Generated from definitions/k24_add_partitions_to_txn.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    absent,
    read_compact_count,
    read_compact_string,
    read_count,
    read_numbers,
    read_string,
    skip_tagged,
    write_compact_count,
    write_compact_string,
    write_count,
    write_string,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">qh?")
_PACKED_2 = Packed(">ih")
_PACKED_3 = Packed(">qh")


class AddPartitionsToTxnTopic(Struct):
    name: str = ""
    partitions: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AddPartitionsToTxnTopic, int]:
        if version >= 3:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        if version >= 3:
            count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 4)
        partitions, at = read_numbers(buf, at, count, "i", 4)
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AddPartitionsToTxnTopic(name, partitions), at

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
            out += _PACKED_0.pack(partitions_item)
        if version >= 3:
            out.append(0)


class AddPartitionsToTxnTransaction(Struct):
    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    verify_only: bool = False
    topics: list[AddPartitionsToTxnTopic] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AddPartitionsToTxnTransaction, int]:
        transactional_id, at = read_compact_string(buf, at)
        producer_id, producer_epoch, verify_only = _PACKED_1.unpack_from(buf, at)
        at += 11
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        topics: list[AddPartitionsToTxnTopic] = []
        for _ in range(count):
            topics_item, at = AddPartitionsToTxnTopic.read(buf, at, version)
            topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AddPartitionsToTxnTransaction(
            transactional_id,
            producer_id,
            producer_epoch,
            verify_only,
            topics,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.transactional_id)
        out += _PACKED_1.pack(self.producer_id, self.producer_epoch, self.verify_only)
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(0)


class AddPartitionsToTxnPartitionResult(Struct):
    partition_index: int = 0
    partition_error_code: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AddPartitionsToTxnPartitionResult, int]:
        partition_index, partition_error_code = _PACKED_2.unpack_from(buf, at)
        at += 6
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AddPartitionsToTxnPartitionResult(partition_index, partition_error_code), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.partition_index, self.partition_error_code)
        if version >= 3:
            out.append(0)


class AddPartitionsToTxnTopicResult(Struct):
    name: str = ""
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AddPartitionsToTxnTopicResult, int]:
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
        results_by_partition: list[AddPartitionsToTxnPartitionResult] = []
        for _ in range(count):
            results_by_partition_item, at = AddPartitionsToTxnPartitionResult.read(buf, at, version)
            results_by_partition.append(results_by_partition_item)
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AddPartitionsToTxnTopicResult(name, results_by_partition), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 3:
            write_compact_string(out, self.name)
        else:
            write_string(out, self.name)
        if version >= 3:
            write_compact_count(out, len(self.results_by_partition))
        else:
            write_count(out, len(self.results_by_partition))
        for results_by_partition_item in self.results_by_partition:
            results_by_partition_item.write(out, version)
        if version >= 3:
            out.append(0)


class AddPartitionsToTxnResult(Struct):
    transactional_id: str = ""
    topic_results: list[AddPartitionsToTxnTopicResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AddPartitionsToTxnResult, int]:
        transactional_id, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        topic_results: list[AddPartitionsToTxnTopicResult] = []
        for _ in range(count):
            topic_results_item, at = AddPartitionsToTxnTopicResult.read(buf, at, version)
            topic_results.append(topic_results_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AddPartitionsToTxnResult(transactional_id, topic_results), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.transactional_id)
        write_compact_count(out, len(self.topic_results))
        for topic_results_item in self.topic_results:
            topic_results_item.write(out, version)
        out.append(0)


class AddPartitionsToTxnRequest(Message):
    KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 3
    SHAPE: ClassVar[Shape] = (
        (4, 5, ("list", ((4, 5, "string"), (4, 5, 11), (4, 5, ("list", ((0, 5, "string"), (0, 5, ("list", 4)),))),))),
        (0, 3, "string"),
        (0, 3, 10),
        (0, 3, ("list", ((0, 5, "string"), (0, 5, ("list", 4)),))),
    )
    transactions: list[AddPartitionsToTxnTransaction] = []
    v3_and_below_transactional_id: str = ""
    v3_and_below_producer_id: int = 0
    v3_and_below_producer_epoch: int = 0
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AddPartitionsToTxnRequest, int]:
        transactions: list[AddPartitionsToTxnTransaction] = []
        if version >= 4:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 14)
            transactions = []
            for _ in range(count):
                transactions_item, at = AddPartitionsToTxnTransaction.read(buf, at, version)
                transactions.append(transactions_item)
        v3_and_below_transactional_id: str = ""
        if version <= 3:
            if version >= 3:
                v3_and_below_transactional_id, at = read_compact_string(buf, at)
            else:
                v3_and_below_transactional_id, at = read_string(buf, at)
        v3_and_below_producer_id: int = 0
        v3_and_below_producer_epoch: int = 0
        if version <= 3:
            v3_and_below_producer_id, v3_and_below_producer_epoch = _PACKED_3.unpack_from(buf, at)
            at += 10
        v3_and_below_topics: list[AddPartitionsToTxnTopic] = []
        if version <= 3:
            if version >= 3:
                count = buf[at] - 1
                if 0 <= count < 0x7F:
                    at += 1
                else:
                    count, at = read_compact_count(buf, at, 3)
            else:
                count, at = read_count(buf, at, 6)
            v3_and_below_topics = []
            for _ in range(count):
                v3_and_below_topics_item, at = AddPartitionsToTxnTopic.read(buf, at, version)
                v3_and_below_topics.append(v3_and_below_topics_item)
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AddPartitionsToTxnRequest(
            transactions,
            v3_and_below_transactional_id,
            v3_and_below_producer_id,
            v3_and_below_producer_epoch,
            v3_and_below_topics,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 4:
            write_compact_count(out, len(self.transactions))
            for transactions_item in self.transactions:
                transactions_item.write(out, version)
        elif self.transactions:
            raise absent(version, "transactions")
        if version <= 3:
            if version >= 3:
                write_compact_string(out, self.v3_and_below_transactional_id)
            else:
                write_string(out, self.v3_and_below_transactional_id)
        elif self.v3_and_below_transactional_id != "":
            raise absent(version, "v3_and_below_transactional_id")
        if version <= 3:
            out += _PACKED_3.pack(self.v3_and_below_producer_id, self.v3_and_below_producer_epoch)
        elif self.v3_and_below_producer_id != 0 or self.v3_and_below_producer_epoch != 0:
            raise absent(version, "v3_and_below_producer_id, v3_and_below_producer_epoch")
        if version <= 3:
            if version >= 3:
                write_compact_count(out, len(self.v3_and_below_topics))
            else:
                write_count(out, len(self.v3_and_below_topics))
            for v3_and_below_topics_item in self.v3_and_below_topics:
                v3_and_below_topics_item.write(out, version)
        elif self.v3_and_below_topics:
            raise absent(version, "v3_and_below_topics")
        if version >= 3:
            out.append(0)


class AddPartitionsToTxnResponse(Message):
    KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 3
    throttle_time_ms: int = 0
    error_code: int = 0
    results_by_transaction: list[AddPartitionsToTxnResult] = []
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AddPartitionsToTxnResponse, int]:
        if version >= 4:
            throttle_time_ms, error_code = _PACKED_2.unpack_from(buf, at)
            at += 6
        else:
            (throttle_time_ms,) = _PACKED_0.unpack_from(buf, at)
            at += 4
            error_code = 0
        results_by_transaction: list[AddPartitionsToTxnResult] = []
        if version >= 4:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
            results_by_transaction = []
            for _ in range(count):
                results_by_transaction_item, at = AddPartitionsToTxnResult.read(buf, at, version)
                results_by_transaction.append(results_by_transaction_item)
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = []
        if version <= 3:
            if version >= 3:
                count = buf[at] - 1
                if 0 <= count < 0x7F:
                    at += 1
                else:
                    count, at = read_compact_count(buf, at, 3)
            else:
                count, at = read_count(buf, at, 6)
            results_by_topic_v3_and_below = []
            for _ in range(count):
                results_by_topic_v3_and_below_item, at = AddPartitionsToTxnTopicResult.read(buf, at, version)
                results_by_topic_v3_and_below.append(results_by_topic_v3_and_below_item)
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AddPartitionsToTxnResponse(
            throttle_time_ms,
            error_code,
            results_by_transaction,
            results_by_topic_v3_and_below,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 4:
            out += _PACKED_2.pack(self.throttle_time_ms, self.error_code)
        else:
            out += _PACKED_0.pack(self.throttle_time_ms)
        if version >= 4:
            write_compact_count(out, len(self.results_by_transaction))
            for results_by_transaction_item in self.results_by_transaction:
                results_by_transaction_item.write(out, version)
        if version <= 3:
            if version >= 3:
                write_compact_count(out, len(self.results_by_topic_v3_and_below))
            else:
                write_count(out, len(self.results_by_topic_v3_and_below))
            for results_by_topic_v3_and_below_item in self.results_by_topic_v3_and_below:
                results_by_topic_v3_and_below_item.write(out, version)
        if version >= 3:
            out.append(0)
