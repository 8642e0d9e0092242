"""Generated from definitions/k03_metadata.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    absent,
    check_tag,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_nullable_count,
    read_nullable_string,
    read_numbers,
    read_string,
    read_tag,
    read_tag_count,
    required,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_nullable_string,
    write_string,
    write_tagged,
)

_PACKED_0 = Packed(">16s")
_PACKED_1 = Packed(">i")
_PACKED_2 = Packed(">hiii")
_PACKED_3 = Packed(">hii")
_PACKED_4 = Packed(">h")
_PACKED_5 = Packed(">16s?")
_PACKED_6 = Packed(">?")


class MetadataRequestTopic(Struct):
    topic_id: bytes = NULL_UUID
    name: str | None = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[MetadataRequestTopic, int]:
        topic_id: bytes = NULL_UUID
        if version >= 10:
            (topic_id,) = _PACKED_0.unpack_from(buf, at)
            at += 16
        name: str | None
        if version >= 10:
            name, at = read_compact_nullable_string(buf, at)
        elif version >= 9:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        if version >= 9:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return MetadataRequestTopic(topic_id, name), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 10:
            out += _PACKED_0.pack(self.topic_id)
        if version >= 10:
            write_compact_nullable_string(out, self.name)
        elif version >= 9:
            write_compact_string(out, required(self.name, version, "name"))
        else:
            write_string(out, required(self.name, version, "name"))
        if version >= 9:
            out.append(0)


class MetadataResponseBroker(Struct):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[MetadataResponseBroker, int]:
        (node_id,) = _PACKED_1.unpack_from(buf, at)
        at += 4
        if version >= 9:
            host, at = read_compact_string(buf, at)
        else:
            host, at = read_string(buf, at)
        (port,) = _PACKED_1.unpack_from(buf, at)
        at += 4
        rack: str | None = None
        if version >= 1:
            if version >= 9:
                rack, at = read_compact_nullable_string(buf, at)
            else:
                rack, at = read_nullable_string(buf, at)
        if version >= 9:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return MetadataResponseBroker(node_id, host, port, rack), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.node_id)
        if version >= 9:
            write_compact_string(out, self.host)
        else:
            write_string(out, self.host)
        out += _PACKED_1.pack(self.port)
        if version >= 1:
            if version >= 9:
                write_compact_nullable_string(out, self.rack)
            else:
                write_nullable_string(out, self.rack)
        if version >= 9:
            out.append(0)


class MetadataResponsePartition(Struct):
    error_code: int = 0
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = -1
    replica_nodes: list[int] = []
    isr_nodes: list[int] = []
    offline_replicas: list[int] = []
    log_id: bytes = NULL_UUID

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[MetadataResponsePartition, int]:
        if version >= 7:
            error_code, partition_index, leader_id, leader_epoch = _PACKED_2.unpack_from(buf, at)
            at += 14
        else:
            error_code, partition_index, leader_id = _PACKED_3.unpack_from(buf, at)
            at += 10
            leader_epoch = -1
        if version >= 9:
            count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 4)
        replica_nodes, at = read_numbers(buf, at, count, "i", 4)
        if version >= 9:
            count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 4)
        isr_nodes, at = read_numbers(buf, at, count, "i", 4)
        offline_replicas: list[int] = []
        if version >= 5:
            if version >= 9:
                count, at = read_compact_count(buf, at, 4)
            else:
                count, at = read_count(buf, at, 4)
            offline_replicas, at = read_numbers(buf, at, count, "i", 4)
        log_id: bytes = NULL_UUID
        if version >= 9:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 10000:
                        (log_id,) = _PACKED_0.unpack_from(buf, at)
                        at += 16
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return MetadataResponsePartition(
            error_code,
            partition_index,
            leader_id,
            leader_epoch,
            replica_nodes,
            isr_nodes,
            offline_replicas,
            log_id,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 7:
            out += _PACKED_2.pack(self.error_code, self.partition_index, self.leader_id, self.leader_epoch)
        else:
            out += _PACKED_3.pack(self.error_code, self.partition_index, self.leader_id)
        if version >= 9:
            write_compact_count(out, len(self.replica_nodes))
        else:
            write_count(out, len(self.replica_nodes))
        for replica_nodes_item in self.replica_nodes:
            out += _PACKED_1.pack(replica_nodes_item)
        if version >= 9:
            write_compact_count(out, len(self.isr_nodes))
        else:
            write_count(out, len(self.isr_nodes))
        for isr_nodes_item in self.isr_nodes:
            out += _PACKED_1.pack(isr_nodes_item)
        if version >= 5:
            if version >= 9:
                write_compact_count(out, len(self.offline_replicas))
            else:
                write_count(out, len(self.offline_replicas))
            for offline_replicas_item in self.offline_replicas:
                out += _PACKED_1.pack(offline_replicas_item)
        if version >= 9:
            tagged: list[tuple[int, Sink]] = []
            if self.log_id != NULL_UUID:
                value = Sink()
                value += _PACKED_0.pack(self.log_id)
                tagged.append((10000, value))
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)


class MetadataResponseTopic(Struct):
    error_code: int = 0
    name: str | None = ""
    topic_id: bytes = NULL_UUID
    is_internal: bool = False
    partitions: list[MetadataResponsePartition] = []
    topic_authorized_operations: int = -2147483648
    open_partitions: int = -1
    log_id: bytes = NULL_UUID
    sealed_from: str = ""
    sealed_first: int = -1
    view_of: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[MetadataResponseTopic, int]:
        (error_code,) = _PACKED_4.unpack_from(buf, at)
        at += 2
        name: str | None
        if version >= 12:
            name, at = read_compact_nullable_string(buf, at)
        elif version >= 9:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        if version >= 10:
            topic_id, is_internal = _PACKED_5.unpack_from(buf, at)
            at += 17
        else:
            topic_id = NULL_UUID
            is_internal = False
            if version >= 1:
                (is_internal,) = _PACKED_6.unpack_from(buf, at)
                at += 1
        if version >= 9:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 18)
        else:
            count, at = read_count(buf, at, 18)
        partitions: list[MetadataResponsePartition] = []
        for _ in range(count):
            partitions_item, at = MetadataResponsePartition.read(buf, at, version)
            partitions.append(partitions_item)
        topic_authorized_operations: int = -2147483648
        if version >= 8:
            (topic_authorized_operations,) = _PACKED_1.unpack_from(buf, at)
            at += 4
        open_partitions: int = -1
        log_id: bytes = NULL_UUID
        sealed_from: str = ""
        sealed_first: int = -1
        view_of: str = ""
        if version >= 9:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 10000:
                        (open_partitions,) = _PACKED_1.unpack_from(buf, at)
                        at += 4
                    elif tag == 10001:
                        (log_id,) = _PACKED_0.unpack_from(buf, at)
                        at += 16
                    elif tag == 10002:
                        sealed_from, at = read_compact_string(buf, at)
                    elif tag == 10003:
                        (sealed_first,) = _PACKED_1.unpack_from(buf, at)
                        at += 4
                    elif tag == 10004:
                        view_of, at = read_compact_string(buf, at)
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return MetadataResponseTopic(
            error_code,
            name,
            topic_id,
            is_internal,
            partitions,
            topic_authorized_operations,
            open_partitions,
            log_id,
            sealed_from,
            sealed_first,
            view_of,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_4.pack(self.error_code)
        if version >= 12:
            write_compact_nullable_string(out, self.name)
        elif version >= 9:
            write_compact_string(out, required(self.name, version, "name"))
        else:
            write_string(out, required(self.name, version, "name"))
        if version >= 10:
            out += _PACKED_5.pack(self.topic_id, self.is_internal)
        else:
            if version >= 1:
                out += _PACKED_6.pack(self.is_internal)
        if version >= 9:
            write_compact_count(out, len(self.partitions))
        else:
            write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        if version >= 8:
            out += _PACKED_1.pack(self.topic_authorized_operations)
        if version >= 9:
            tagged: list[tuple[int, Sink]] = []
            if self.open_partitions != -1:
                value = Sink()
                value += _PACKED_1.pack(self.open_partitions)
                tagged.append((10000, value))
            if self.log_id != NULL_UUID:
                value = Sink()
                value += _PACKED_0.pack(self.log_id)
                tagged.append((10001, value))
            if self.sealed_from != "":
                value = Sink()
                write_compact_string(value, self.sealed_from)
                tagged.append((10002, value))
            if self.sealed_first != -1:
                value = Sink()
                value += _PACKED_1.pack(self.sealed_first)
                tagged.append((10003, value))
            if self.view_of != "":
                value = Sink()
                write_compact_string(value, self.view_of)
                tagged.append((10004, value))
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)


class MetadataRequest(Message):
    KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_SINCE: ClassVar[int] = 9
    SHAPE: ClassVar[Shape] = (
        (0, 13, ("list", ((10, 13, 16), (0, 13, "string"),))),
        (4, 13, 1),
        (8, 10, 1),
        (8, 13, 1),
    )
    topics: list[MetadataRequestTopic] | None = []
    allow_auto_topic_creation: bool = True
    include_cluster_authorized_operations: bool = False
    include_topic_authorized_operations: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[MetadataRequest, int]:
        if version >= 9:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_nullable_count(buf, at, 2)
        elif version >= 1:
            count, at = read_nullable_count(buf, at, 2)
        else:
            count, at = read_count(buf, at, 2)
        topics: list[MetadataRequestTopic] | None = None
        if count >= 0:
            topics = []
            for _ in range(count):
                topics_item, at = MetadataRequestTopic.read(buf, at, version)
                topics.append(topics_item)
        allow_auto_topic_creation: bool = True
        if version >= 4:
            (allow_auto_topic_creation,) = _PACKED_6.unpack_from(buf, at)
            at += 1
        include_cluster_authorized_operations: bool = False
        if 8 <= version <= 10:
            (include_cluster_authorized_operations,) = _PACKED_6.unpack_from(buf, at)
            at += 1
        include_topic_authorized_operations: bool = False
        if version >= 8:
            (include_topic_authorized_operations,) = _PACKED_6.unpack_from(buf, at)
            at += 1
        if version >= 9:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return MetadataRequest(
            topics,
            allow_auto_topic_creation,
            include_cluster_authorized_operations,
            include_topic_authorized_operations,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 9:
            write_compact_count(out, -1 if self.topics is None else len(self.topics))
        elif version >= 1:
            write_count(out, -1 if self.topics is None else len(self.topics))
        else:
            write_count(out, len(required(self.topics, version, "topics")))
        for topics_item in self.topics or ():
            topics_item.write(out, version)
        if version >= 4:
            out += _PACKED_6.pack(self.allow_auto_topic_creation)
        elif not self.allow_auto_topic_creation:
            raise absent(version, "allow_auto_topic_creation")
        if 8 <= version <= 10:
            out += _PACKED_6.pack(self.include_cluster_authorized_operations)
        elif self.include_cluster_authorized_operations:
            raise absent(version, "include_cluster_authorized_operations")
        if version >= 8:
            out += _PACKED_6.pack(self.include_topic_authorized_operations)
        elif self.include_topic_authorized_operations:
            raise absent(version, "include_topic_authorized_operations")
        if version >= 9:
            out.append(0)


class MetadataResponse(Message):
    KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_SINCE: ClassVar[int] = 9
    throttle_time_ms: int = 0
    brokers: list[MetadataResponseBroker] = []
    cluster_id: str | None = None
    controller_id: int = -1
    topics: list[MetadataResponseTopic] = []
    cluster_authorized_operations: int = -2147483648
    error_code: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[MetadataResponse, int]:
        throttle_time_ms: int = 0
        if version >= 3:
            (throttle_time_ms,) = _PACKED_1.unpack_from(buf, at)
            at += 4
        if version >= 9:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 11)
        else:
            count, at = read_count(buf, at, 10)
        brokers: list[MetadataResponseBroker] = []
        for _ in range(count):
            brokers_item, at = MetadataResponseBroker.read(buf, at, version)
            brokers.append(brokers_item)
        cluster_id: str | None = None
        if version >= 2:
            if version >= 9:
                cluster_id, at = read_compact_nullable_string(buf, at)
            else:
                cluster_id, at = read_nullable_string(buf, at)
        controller_id: int = -1
        if version >= 1:
            (controller_id,) = _PACKED_1.unpack_from(buf, at)
            at += 4
        if version >= 9:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 10)
        else:
            count, at = read_count(buf, at, 8)
        topics: list[MetadataResponseTopic] = []
        for _ in range(count):
            topics_item, at = MetadataResponseTopic.read(buf, at, version)
            topics.append(topics_item)
        cluster_authorized_operations: int = -2147483648
        if 8 <= version <= 10:
            (cluster_authorized_operations,) = _PACKED_1.unpack_from(buf, at)
            at += 4
        error_code: int = 0
        if version >= 13:
            (error_code,) = _PACKED_4.unpack_from(buf, at)
            at += 2
        if version >= 9:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return MetadataResponse(
            throttle_time_ms,
            brokers,
            cluster_id,
            controller_id,
            topics,
            cluster_authorized_operations,
            error_code,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 3:
            out += _PACKED_1.pack(self.throttle_time_ms)
        if version >= 9:
            write_compact_count(out, len(self.brokers))
        else:
            write_count(out, len(self.brokers))
        for brokers_item in self.brokers:
            brokers_item.write(out, version)
        if version >= 2:
            if version >= 9:
                write_compact_nullable_string(out, self.cluster_id)
            else:
                write_nullable_string(out, self.cluster_id)
        if version >= 1:
            out += _PACKED_1.pack(self.controller_id)
        if version >= 9:
            write_compact_count(out, len(self.topics))
        else:
            write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if 8 <= version <= 10:
            out += _PACKED_1.pack(self.cluster_authorized_operations)
        if version >= 13:
            out += _PACKED_4.pack(self.error_code)
        if version >= 9:
            out.append(0)
