"""Generated from definitions/k27_write_txn_markers.txt; do not edit."""

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
_PACKED_1 = Packed(">qh?")
_PACKED_2 = Packed(">ib")
_PACKED_3 = Packed(">ih")
_PACKED_4 = Packed(">q")


class WritableTxnMarkerTopic(Struct):
    name: str = ""
    partition_indexes: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[WritableTxnMarkerTopic, int]:
        name, at = read_compact_string(buf, at)
        count, at = read_compact_count(buf, at, 4)
        partition_indexes, at = read_numbers(buf, at, count, "i", 4)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return WritableTxnMarkerTopic(name, partition_indexes), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        write_compact_count(out, len(self.partition_indexes))
        for partition_indexes_item in self.partition_indexes:
            out += _PACKED_0.pack(partition_indexes_item)
        out.append(0)


class WritableTxnMarker(Struct):
    producer_id: int = 0
    producer_epoch: int = 0
    transaction_result: bool = False
    topics: list[WritableTxnMarkerTopic] = []
    coordinator_epoch: int = 0
    transaction_version: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[WritableTxnMarker, int]:
        producer_id, producer_epoch, transaction_result = _PACKED_1.unpack_from(buf, at)
        at += 11
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        topics: list[WritableTxnMarkerTopic] = []
        for _ in range(count):
            topics_item, at = WritableTxnMarkerTopic.read(buf, at, version)
            topics.append(topics_item)
        if version >= 2:
            coordinator_epoch, transaction_version = _PACKED_2.unpack_from(buf, at)
            at += 5
        else:
            (coordinator_epoch,) = _PACKED_0.unpack_from(buf, at)
            at += 4
            transaction_version = 0
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return WritableTxnMarker(
            producer_id,
            producer_epoch,
            transaction_result,
            topics,
            coordinator_epoch,
            transaction_version,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.producer_id, self.producer_epoch, self.transaction_result)
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 2:
            out += _PACKED_2.pack(self.coordinator_epoch, self.transaction_version)
        else:
            out += _PACKED_0.pack(self.coordinator_epoch)
        out.append(0)


class WritableTxnMarkerPartitionResult(Struct):
    partition_index: int = 0
    error_code: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[WritableTxnMarkerPartitionResult, int]:
        partition_index, error_code = _PACKED_3.unpack_from(buf, at)
        at += 6
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return WritableTxnMarkerPartitionResult(partition_index, error_code), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_3.pack(self.partition_index, self.error_code)
        out.append(0)


class WritableTxnMarkerTopicResult(Struct):
    name: str = ""
    partitions: list[WritableTxnMarkerPartitionResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[WritableTxnMarkerTopicResult, int]:
        name, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 7)
        partitions: list[WritableTxnMarkerPartitionResult] = []
        for _ in range(count):
            partitions_item, at = WritableTxnMarkerPartitionResult.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return WritableTxnMarkerTopicResult(name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class WritableTxnMarkerResult(Struct):
    producer_id: int = 0
    topics: list[WritableTxnMarkerTopicResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[WritableTxnMarkerResult, int]:
        (producer_id,) = _PACKED_4.unpack_from(buf, at)
        at += 8
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        topics: list[WritableTxnMarkerTopicResult] = []
        for _ in range(count):
            topics_item, at = WritableTxnMarkerTopicResult.read(buf, at, version)
            topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return WritableTxnMarkerResult(producer_id, topics), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_4.pack(self.producer_id)
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(0)


class WriteTxnMarkersRequest(Message):
    KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 1
    SHAPE: ClassVar[Shape] = (
        (1, 2, ("list", ((1, 2, 11), (1, 2, ("list", ((1, 2, "string"), (1, 2, ("list", 4)),))), (1, 2, 4), (2, 2, 1),))),
    )
    markers: list[WritableTxnMarker] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[WriteTxnMarkersRequest, int]:
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 17)
        markers: list[WritableTxnMarker] = []
        for _ in range(count):
            markers_item, at = WritableTxnMarker.read(buf, at, version)
            markers.append(markers_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return WriteTxnMarkersRequest(markers), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.markers))
        for markers_item in self.markers:
            markers_item.write(out, version)
        out.append(0)


class WriteTxnMarkersResponse(Message):
    KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 1
    markers: list[WritableTxnMarkerResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[WriteTxnMarkersResponse, int]:
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 10)
        markers: list[WritableTxnMarkerResult] = []
        for _ in range(count):
            markers_item, at = WritableTxnMarkerResult.read(buf, at, version)
            markers.append(markers_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return WriteTxnMarkersResponse(markers), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.markers))
        for markers_item in self.markers:
            markers_item.write(out, version)
        out.append(0)
