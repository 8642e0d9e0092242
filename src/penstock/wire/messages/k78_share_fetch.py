"""Generated from definitions/k78_share_fetch.txt; do not edit."""

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
    read_compact_nullable_records,
    read_compact_nullable_string,
    read_compact_string,
    read_numbers,
    read_tag,
    read_tag_count,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_records,
    write_compact_nullable_string,
    write_compact_string,
    write_tagged,
)
from penstock.world.ports import Part

_PACKED_0 = Packed(">qq")
_PACKED_1 = Packed(">q")
_PACKED_2 = Packed(">b")
_PACKED_3 = Packed(">i")
_PACKED_4 = Packed(">16s")
_PACKED_5 = Packed(">ii")
_PACKED_6 = Packed(">qqh")
_PACKED_7 = Packed(">ih")
_PACKED_8 = Packed(">h")
_PACKED_9 = Packed(">iiiiiib?")
_PACKED_10 = Packed(">iiiiii")


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


class FetchPartition(Struct):
    partition_index: int = 0
    acknowledgement_batches: list[AcknowledgementBatch] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[FetchPartition, int]:
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
        return FetchPartition(partition_index, acknowledgement_batches), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_3.pack(self.partition_index)
        write_compact_count(out, len(self.acknowledgement_batches))
        for acknowledgement_batches_item in self.acknowledgement_batches:
            acknowledgement_batches_item.write(out, version)
        out.append(0)


class FetchTopic(Struct):
    topic_id: bytes = NULL_UUID
    partitions: list[FetchPartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[FetchTopic, int]:
        (topic_id,) = _PACKED_4.unpack_from(buf, at)
        at += 16
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 6)
        partitions: list[FetchPartition] = []
        for _ in range(count):
            partitions_item, at = FetchPartition.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return FetchTopic(topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_4.pack(self.topic_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        out.append(0)


class ForgottenTopic(Struct):
    topic_id: bytes = NULL_UUID
    partitions: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ForgottenTopic, int]:
        (topic_id,) = _PACKED_4.unpack_from(buf, at)
        at += 16
        count, at = read_compact_count(buf, at, 4)
        partitions, at = read_numbers(buf, at, count, "i", 4)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ForgottenTopic(topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_4.pack(self.topic_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            out += _PACKED_3.pack(partitions_item)
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


class AcquiredRecords(Struct):
    first_offset: int = 0
    last_offset: int = 0
    delivery_count: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AcquiredRecords, int]:
        first_offset, last_offset, delivery_count = _PACKED_6.unpack_from(buf, at)
        at += 18
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return AcquiredRecords(first_offset, last_offset, delivery_count), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_6.pack(self.first_offset, self.last_offset, self.delivery_count)
        out.append(0)


class PartitionData(Struct):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    acknowledge_error_code: int = 0
    acknowledge_error_message: str | None = None
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)
    records: Part | None = None
    acquired_records: list[AcquiredRecords] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[PartitionData, int]:
        partition_index, error_code = _PACKED_7.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        (acknowledge_error_code,) = _PACKED_8.unpack_from(buf, at)
        at += 2
        acknowledge_error_message, at = read_compact_nullable_string(buf, at)
        current_leader, at = LeaderIdAndEpoch.read(buf, at, version)
        records, at = read_compact_nullable_records(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 19)
        acquired_records: list[AcquiredRecords] = []
        for _ in range(count):
            acquired_records_item, at = AcquiredRecords.read(buf, at, version)
            acquired_records.append(acquired_records_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return PartitionData(
            partition_index,
            error_code,
            error_message,
            acknowledge_error_code,
            acknowledge_error_message,
            current_leader,
            records,
            acquired_records,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_7.pack(self.partition_index, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        out += _PACKED_8.pack(self.acknowledge_error_code)
        write_compact_nullable_string(out, self.acknowledge_error_message)
        self.current_leader.write(out, version)
        write_compact_nullable_records(out, self.records)
        write_compact_count(out, len(self.acquired_records))
        for acquired_records_item in self.acquired_records:
            acquired_records_item.write(out, version)
        out.append(0)


class ShareFetchableTopicResponse(Struct):
    topic_id: bytes = NULL_UUID
    partitions: list[PartitionData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareFetchableTopicResponse, int]:
        (topic_id,) = _PACKED_4.unpack_from(buf, at)
        at += 16
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 22)
        partitions: list[PartitionData] = []
        for _ in range(count):
            partitions_item, at = PartitionData.read(buf, at, version)
            partitions.append(partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ShareFetchableTopicResponse(topic_id, partitions), at

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


class ShareFetchRequest(Message):
    KEY: ClassVar[int] = 78
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 1
    SHAPE: ClassVar[Shape] = (
        (1, 2, "string"),
        (1, 2, "string"),
        (1, 2, 24),
        (2, 2, 2),
        (1, 2, ("list", ((1, 2, 16), (1, 2, ("list", ((1, 2, 4), (1, 2, ("list", ((1, 2, 16), (1, 2, ("list", 1)),))),))),))),
        (1, 2, ("list", ((1, 2, 16), (1, 2, ("list", 4)),))),
    )
    group_id: str | None = None
    member_id: str | None = ""
    share_session_epoch: int = 0
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 2147483647
    max_records: int = 0
    batch_size: int = 0
    share_acquire_mode: int = 0
    is_renew_ack: bool = False
    topics: list[FetchTopic] = []
    forgotten_topics_data: list[ForgottenTopic] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareFetchRequest, int]:
        group_id, at = read_compact_nullable_string(buf, at)
        member_id, at = read_compact_nullable_string(buf, at)
        if version >= 2:
            share_session_epoch, max_wait_ms, min_bytes, max_bytes, max_records, batch_size, share_acquire_mode, is_renew_ack = _PACKED_9.unpack_from(buf, at)
            at += 26
        else:
            share_session_epoch, max_wait_ms, min_bytes, max_bytes, max_records, batch_size = _PACKED_10.unpack_from(buf, at)
            at += 24
            share_acquire_mode = 0
            is_renew_ack = False
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
        topics: list[FetchTopic] = []
        for _ in range(count):
            topics_item, at = FetchTopic.read(buf, at, version)
            topics.append(topics_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
        forgotten_topics_data: list[ForgottenTopic] = []
        for _ in range(count):
            forgotten_topics_data_item, at = ForgottenTopic.read(buf, at, version)
            forgotten_topics_data.append(forgotten_topics_data_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ShareFetchRequest(
            group_id,
            member_id,
            share_session_epoch,
            max_wait_ms,
            min_bytes,
            max_bytes,
            max_records,
            batch_size,
            share_acquire_mode,
            is_renew_ack,
            topics,
            forgotten_topics_data,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_nullable_string(out, self.group_id)
        write_compact_nullable_string(out, self.member_id)
        if version >= 2:
            out += _PACKED_9.pack(self.share_session_epoch, self.max_wait_ms, self.min_bytes, self.max_bytes, self.max_records, self.batch_size, self.share_acquire_mode, self.is_renew_ack)
        else:
            out += _PACKED_10.pack(self.share_session_epoch, self.max_wait_ms, self.min_bytes, self.max_bytes, self.max_records, self.batch_size)
            if self.share_acquire_mode != 0 or self.is_renew_ack:
                raise absent(version, "share_acquire_mode, is_renew_ack")
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        write_compact_count(out, len(self.forgotten_topics_data))
        for forgotten_topics_data_item in self.forgotten_topics_data:
            forgotten_topics_data_item.write(out, version)
        out.append(0)


class ShareFetchResponse(Message):
    KEY: ClassVar[int] = 78
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 1
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: int = 0
    responses: list[ShareFetchableTopicResponse] = []
    node_endpoints: list[NodeEndpoint] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareFetchResponse, int]:
        throttle_time_ms, error_code = _PACKED_7.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        (acquisition_lock_timeout_ms,) = _PACKED_3.unpack_from(buf, at)
        at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 18)
        responses: list[ShareFetchableTopicResponse] = []
        for _ in range(count):
            responses_item, at = ShareFetchableTopicResponse.read(buf, at, version)
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
        return ShareFetchResponse(
            throttle_time_ms,
            error_code,
            error_message,
            acquisition_lock_timeout_ms,
            responses,
            node_endpoints,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_7.pack(self.throttle_time_ms, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        out += _PACKED_3.pack(self.acquisition_lock_timeout_ms)
        write_compact_count(out, len(self.responses))
        for responses_item in self.responses:
            responses_item.write(out, version)
        write_compact_count(out, len(self.node_endpoints))
        for node_endpoints_item in self.node_endpoints:
            node_endpoints_item.write(out, version)
        out.append(0)
