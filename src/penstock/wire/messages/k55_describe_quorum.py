"""Generated from definitions/k55_describe_quorum.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">i16sqqq")
_PACKED_2 = Packed(">q")
_PACKED_3 = Packed(">qq")
_PACKED_4 = Packed(">ih")
_PACKED_5 = Packed(">iiq")
_PACKED_6 = Packed(">H")
_PACKED_7 = Packed(">h")


class RequestPartitionData(Struct):
    partition_index: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[RequestPartitionData, int]:
        (partition_index,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return RequestPartitionData(partition_index), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.partition_index)
        out.append(0)


class RequestTopicData(Struct):
    topic_name: str = ""
    partitions: list[RequestPartitionData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[RequestTopicData, int]:
        topic_name, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 5)
        partitions: list[RequestPartitionData] = []
        for _ in range(count):
            partitions_item, at = RequestPartitionData.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return RequestTopicData(topic_name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.topic_name)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class ReplicaState(Struct):
    replica_id: int = 0
    replica_directory_id: bytes = NULL_UUID
    log_end_offset: int = 0
    last_fetch_timestamp: int = -1
    last_caught_up_timestamp: int = -1

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ReplicaState, int]:
        if version >= 2:
            replica_id, replica_directory_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp = _PACKED_1.unpack_from(buf, at)
            at += 44
        else:
            (replica_id,) = _PACKED_0.unpack_from(buf, at)
            at += 4
            replica_directory_id = NULL_UUID
            (log_end_offset,) = _PACKED_2.unpack_from(buf, at)
            at += 8
            last_fetch_timestamp = -1
            last_caught_up_timestamp = -1
            if version >= 1:
                last_fetch_timestamp, last_caught_up_timestamp = _PACKED_3.unpack_from(buf, at)
                at += 16
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ReplicaState(
            replica_id,
            replica_directory_id,
            log_end_offset,
            last_fetch_timestamp,
            last_caught_up_timestamp,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            out += _PACKED_1.pack(self.replica_id, self.replica_directory_id, self.log_end_offset, self.last_fetch_timestamp, self.last_caught_up_timestamp)
        else:
            out += _PACKED_0.pack(self.replica_id)
            out += _PACKED_2.pack(self.log_end_offset)
            if version >= 1:
                out += _PACKED_3.pack(self.last_fetch_timestamp, self.last_caught_up_timestamp)
        out.append(0)


class ResponsePartitionData(Struct):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    leader_id: int = 0
    leader_epoch: int = 0
    high_watermark: int = 0
    current_voters: list[ReplicaState] = []
    observers: list[ReplicaState] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ResponsePartitionData, int]:
        partition_index, error_code = _PACKED_4.unpack_from(buf, at)
        at += 6
        error_message: str | None = None
        if version >= 2:
            error_message, at = read_compact_nullable_string(buf, at)
        leader_id, leader_epoch, high_watermark = _PACKED_5.unpack_from(buf, at)
        at += 16
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 13)
        current_voters: list[ReplicaState] = []
        for _ in range(count):
            current_voters_item, at = ReplicaState.read(buf, at, version)
            current_voters.append(current_voters_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 13)
        observers: list[ReplicaState] = []
        for _ in range(count):
            observers_item, at = ReplicaState.read(buf, at, version)
            observers.append(observers_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ResponsePartitionData(
            partition_index,
            error_code,
            error_message,
            leader_id,
            leader_epoch,
            high_watermark,
            current_voters,
            observers,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_4.pack(self.partition_index, self.error_code)
        if version >= 2:
            write_compact_nullable_string(out, self.error_message)
        out += _PACKED_5.pack(self.leader_id, self.leader_epoch, self.high_watermark)
        write_compact_count(out, len(self.current_voters))
        for current_voters_item in self.current_voters:
            current_voters_item.write(out, version)
        write_compact_count(out, len(self.observers))
        for observers_item in self.observers:
            observers_item.write(out, version)
        out.append(0)


class ResponseTopicData(Struct):
    topic_name: str = ""
    partitions: list[ResponsePartitionData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ResponseTopicData, int]:
        topic_name, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 25)
        partitions: list[ResponsePartitionData] = []
        for _ in range(count):
            partitions_item, at = ResponsePartitionData.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ResponseTopicData(topic_name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.topic_name)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class Listener(Struct):
    name: str = ""
    host: str = ""
    port: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Listener, int]:
        name, at = read_compact_string(buf, at)
        host, at = read_compact_string(buf, at)
        (port,) = _PACKED_6.unpack_from(buf, at)
        at += 2
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return Listener(name, host, port), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        write_compact_string(out, self.host)
        out += _PACKED_6.pack(self.port)
        out.append(0)


class Node(Struct):
    node_id: int = 0
    listeners: list[Listener] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Node, int]:
        (node_id,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 5)
        listeners: list[Listener] = []
        for _ in range(count):
            listeners_item, at = Listener.read(buf, at, version)
            listeners.append(listeners_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return Node(node_id, listeners), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.node_id)
        write_compact_count(out, len(self.listeners))
        for listeners_item in self.listeners:
            listeners_item.write(out, version)
        out.append(0)


class DescribeQuorumRequest(Message):
    KEY: ClassVar[int] = 55
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 2, ("list", ((0, 2, "string"), (0, 2, ("list", ((0, 2, 4),))),))),
    )
    topics: list[RequestTopicData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeQuorumRequest, int]:
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        topics: list[RequestTopicData] = []
        for _ in range(count):
            topics_item, at = RequestTopicData.read(buf, at, version)
            topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeQuorumRequest(topics), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(0)


class DescribeQuorumResponse(Message):
    KEY: ClassVar[int] = 55
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 0
    error_code: int = 0
    error_message: str | None = None
    topics: list[ResponseTopicData] = []
    nodes: list[Node] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribeQuorumResponse, int]:
        (error_code,) = _PACKED_7.unpack_from(buf, at)
        at += 2
        error_message: str | None = None
        if version >= 2:
            error_message, at = read_compact_nullable_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        topics: list[ResponseTopicData] = []
        for _ in range(count):
            topics_item, at = ResponseTopicData.read(buf, at, version)
            topics.append(topics_item)
        nodes: list[Node] = []
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 6)
            nodes = []
            for _ in range(count):
                nodes_item, at = Node.read(buf, at, version)
                nodes.append(nodes_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribeQuorumResponse(error_code, error_message, topics, nodes), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_7.pack(self.error_code)
        if version >= 2:
            write_compact_nullable_string(out, self.error_message)
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 2:
            write_compact_count(out, len(self.nodes))
            for nodes_item in self.nodes:
                nodes_item.write(out, version)
        out.append(0)
