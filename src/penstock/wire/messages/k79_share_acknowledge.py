"""Generated from definitions/k79_share_acknowledge.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct, field

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    absent,
    check_tag,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_numbers,
    read_tag,
    read_tag_count,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_tagged,
)

_PACKED_0 = Packed(">qq")
_PACKED_1 = Packed(">q")
_PACKED_2 = Packed(">b")
_PACKED_3 = Packed(">i")
_PACKED_4 = Packed(">16s")
_PACKED_5 = Packed(">ii")
_PACKED_6 = Packed(">ih")
_PACKED_7 = Packed(">i?")


class AcknowledgementBatch(Struct):
    first_offset: int = 0
    last_offset: int = 0
    acknowledge_types: list[int] = []
    delay_ms: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AcknowledgementBatch, int]:
        first_offset, last_offset = _PACKED_0.unpack_from(buf, at)
        at += 16
        count, at = read_compact_count(buf, at, 1)
        acknowledge_types, at = read_numbers(buf, at, count, "b", 1)
        delay_ms: int = 0
        if buf[at]:
            count, at = read_tag_count(buf, at)
            for _ in range(count):
                tag, at, end = read_tag(buf, at)
                if tag == 10000:
                    (delay_ms,) = _PACKED_1.unpack_from(buf, at)
                    at += 8
                else:
                    at = end
                check_tag(at, end)
        else:
            at += 1
        return AcknowledgementBatch(first_offset, last_offset, acknowledge_types, delay_ms), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.first_offset, self.last_offset)
        write_compact_count(out, len(self.acknowledge_types))
        for acknowledge_types_item in self.acknowledge_types:
            out += _PACKED_2.pack(acknowledge_types_item)
        tagged: list[tuple[int, Sink]] = []
        if self.delay_ms != 0:
            value = Sink()
            value += _PACKED_1.pack(self.delay_ms)
            tagged.append((10000, value))
        if tagged:
            write_tagged(out, tagged)
        else:
            out.append(0)


class AcknowledgePartition(Struct):
    partition_index: int = 0
    acknowledgement_batches: list[AcknowledgementBatch] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AcknowledgePartition, int]:
        (partition_index,) = _PACKED_3.unpack_from(buf, at)
        at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
        acknowledgement_batches: list[AcknowledgementBatch] = []
        for _ in range(count):
            acknowledgement_batches_item, at = AcknowledgementBatch.read(buf, at, version)
            acknowledgement_batches.append(acknowledgement_batches_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AcknowledgePartition(partition_index, acknowledgement_batches), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_3.pack(self.partition_index)
        write_compact_count(out, len(self.acknowledgement_batches))
        for acknowledgement_batches_item in self.acknowledgement_batches:
            acknowledgement_batches_item.write(out, version)
        out.append(0)


class AcknowledgeTopic(Struct):
    topic_id: bytes = NULL_UUID
    partitions: list[AcknowledgePartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AcknowledgeTopic, int]:
        (topic_id,) = _PACKED_4.unpack_from(buf, at)
        at += 16
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 6)
        partitions: list[AcknowledgePartition] = []
        for _ in range(count):
            partitions_item, at = AcknowledgePartition.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AcknowledgeTopic(topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_4.pack(self.topic_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class LeaderIdAndEpoch(Struct):
    leader_id: int = 0
    leader_epoch: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[LeaderIdAndEpoch, int]:
        leader_id, leader_epoch = _PACKED_5.unpack_from(buf, at)
        at += 8
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return LeaderIdAndEpoch(leader_id, leader_epoch), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_5.pack(self.leader_id, self.leader_epoch)
        out.append(0)


class PartitionData(Struct):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[PartitionData, int]:
        partition_index, error_code = _PACKED_6.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        current_leader, at = LeaderIdAndEpoch.read(buf, at, version)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return PartitionData(partition_index, error_code, error_message, current_leader), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_6.pack(self.partition_index, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        self.current_leader.write(out, version)
        out.append(0)


class ShareAcknowledgeTopicResponse(Struct):
    topic_id: bytes = NULL_UUID
    partitions: list[PartitionData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareAcknowledgeTopicResponse, int]:
        (topic_id,) = _PACKED_4.unpack_from(buf, at)
        at += 16
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 17)
        partitions: list[PartitionData] = []
        for _ in range(count):
            partitions_item, at = PartitionData.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ShareAcknowledgeTopicResponse(topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_4.pack(self.topic_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class NodeEndpoint(Struct):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[NodeEndpoint, int]:
        (node_id,) = _PACKED_3.unpack_from(buf, at)
        at += 4
        host, at = read_compact_string(buf, at)
        (port,) = _PACKED_3.unpack_from(buf, at)
        at += 4
        rack, at = read_compact_nullable_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return NodeEndpoint(node_id, host, port, rack), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_3.pack(self.node_id)
        write_compact_string(out, self.host)
        out += _PACKED_3.pack(self.port)
        write_compact_nullable_string(out, self.rack)
        out.append(0)


class ShareAcknowledgeRequest(Message):
    KEY: ClassVar[int] = 79
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 1
    SHAPE: ClassVar[Shape] = (
        (1, 2, "string"),
        (1, 2, "string"),
        (1, 2, 4),
        (2, 2, 1),
        (1, 2, ("list", ((1, 2, 16), (1, 2, ("list", ((1, 2, 4), (1, 2, ("list", ((1, 2, 16), (1, 2, ("list", 1)),))),))),))),
    )
    group_id: str | None = None
    member_id: str | None = ""
    share_session_epoch: int = 0
    is_renew_ack: bool = False
    topics: list[AcknowledgeTopic] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareAcknowledgeRequest, int]:
        group_id, at = read_compact_nullable_string(buf, at)
        member_id, at = read_compact_nullable_string(buf, at)
        if version >= 2:
            share_session_epoch, is_renew_ack = _PACKED_7.unpack_from(buf, at)
            at += 5
        else:
            (share_session_epoch,) = _PACKED_3.unpack_from(buf, at)
            at += 4
            is_renew_ack = False
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
        topics: list[AcknowledgeTopic] = []
        for _ in range(count):
            topics_item, at = AcknowledgeTopic.read(buf, at, version)
            topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ShareAcknowledgeRequest(
            group_id,
            member_id,
            share_session_epoch,
            is_renew_ack,
            topics,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_nullable_string(out, self.group_id)
        write_compact_nullable_string(out, self.member_id)
        if version >= 2:
            out += _PACKED_7.pack(self.share_session_epoch, self.is_renew_ack)
        else:
            out += _PACKED_3.pack(self.share_session_epoch)
            if self.is_renew_ack:
                raise absent(version, "is_renew_ack")
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(0)


class ShareAcknowledgeResponse(Message):
    KEY: ClassVar[int] = 79
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 1
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: int = 0
    responses: list[ShareAcknowledgeTopicResponse] = []
    node_endpoints: list[NodeEndpoint] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareAcknowledgeResponse, int]:
        throttle_time_ms, error_code = _PACKED_6.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        acquisition_lock_timeout_ms: int = 0
        if version >= 2:
            (acquisition_lock_timeout_ms,) = _PACKED_3.unpack_from(buf, at)
            at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
        responses: list[ShareAcknowledgeTopicResponse] = []
        for _ in range(count):
            responses_item, at = ShareAcknowledgeTopicResponse.read(buf, at, version)
            responses.append(responses_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 11)
        node_endpoints: list[NodeEndpoint] = []
        for _ in range(count):
            node_endpoints_item, at = NodeEndpoint.read(buf, at, version)
            node_endpoints.append(node_endpoints_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ShareAcknowledgeResponse(
            throttle_time_ms,
            error_code,
            error_message,
            acquisition_lock_timeout_ms,
            responses,
            node_endpoints,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_6.pack(self.throttle_time_ms, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        if version >= 2:
            out += _PACKED_3.pack(self.acquisition_lock_timeout_ms)
        write_compact_count(out, len(self.responses))
        for responses_item in self.responses:
            responses_item.write(out, version)
        write_compact_count(out, len(self.node_endpoints))
        for node_endpoints_item in self.node_endpoints:
            node_endpoints_item.write(out, version)
        out.append(0)
