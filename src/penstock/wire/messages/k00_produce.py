"""Generated from definitions/k00_produce.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    check_tag,
    read_compact_count,
    read_compact_nullable_records,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_nullable_records,
    read_nullable_string,
    read_string,
    read_tag,
    read_tag_count,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_records,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_nullable_records,
    write_nullable_string,
    write_string,
    write_tagged,
)
from penstock.world.ports import Part

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">16s")
_PACKED_2 = Packed(">ii")
_PACKED_3 = Packed(">ihqqq")
_PACKED_4 = Packed(">ihqq")
_PACKED_5 = Packed(">hi")


class PartitionProduceData(Struct):
    index: int = 0
    records: Part | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[PartitionProduceData, int]:
        (index,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        records: Part | None
        if version >= 9:
            records, at = read_compact_nullable_records(buf, at)
        else:
            records, at = read_nullable_records(buf, at)
        if version >= 9:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return PartitionProduceData(index, records), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.index)
        if version >= 9:
            write_compact_nullable_records(out, self.records)
        else:
            write_nullable_records(out, self.records)
        if version >= 9:
            out.append(0)


class TopicProduceData(Struct):
    name: str = ""
    topic_id: bytes = NULL_UUID
    partition_data: list[PartitionProduceData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TopicProduceData, int]:
        name: str = ""
        if version <= 12:
            if version >= 9:
                name, at = read_compact_string(buf, at)
            else:
                name, at = read_string(buf, at)
        topic_id: bytes = NULL_UUID
        if version >= 13:
            (topic_id,) = _PACKED_1.unpack_from(buf, at)
            at += 16
        if version >= 9:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 6)
        else:
            count, at = read_count(buf, at, 8)
        partition_data: list[PartitionProduceData] = []
        for _ in range(count):
            partition_data_item, at = PartitionProduceData.read(buf, at, version)
            partition_data.append(partition_data_item)
        if version >= 9:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return TopicProduceData(name, topic_id, partition_data), at

    def write(self, out: Sink, version: int) -> None:
        if version <= 12:
            if version >= 9:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
        if version >= 13:
            out += _PACKED_1.pack(self.topic_id)
        if version >= 9:
            write_compact_count(out, len(self.partition_data))
        else:
            write_count(out, len(self.partition_data))
        for partition_data_item in self.partition_data:
            partition_data_item.write(out, version)
        if version >= 9:
            out.append(0)


class BatchIndexAndErrorMessage(Struct):
    batch_index: int = 0
    batch_index_error_message: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[BatchIndexAndErrorMessage, int]:
        (batch_index,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        batch_index_error_message: str | None
        if version >= 9:
            batch_index_error_message, at = read_compact_nullable_string(buf, at)
        else:
            batch_index_error_message, at = read_nullable_string(buf, at)
        if version >= 9:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return BatchIndexAndErrorMessage(batch_index, batch_index_error_message), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.batch_index)
        if version >= 9:
            write_compact_nullable_string(out, self.batch_index_error_message)
        else:
            write_nullable_string(out, self.batch_index_error_message)
        if version >= 9:
            out.append(0)


class LeaderIdAndEpoch(Struct, frozen=True):
    leader_id: int = -1
    leader_epoch: int = -1

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[LeaderIdAndEpoch, int]:
        leader_id, leader_epoch = _PACKED_2.unpack_from(buf, at)
        at += 8
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return LeaderIdAndEpoch(leader_id, leader_epoch), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.leader_id, self.leader_epoch)
        out.append(0)


_LEADER_ID_AND_EPOCH = LeaderIdAndEpoch()


class PartitionProduceResponse(Struct):
    index: int = 0
    error_code: int = 0
    base_offset: int = 0
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: list[BatchIndexAndErrorMessage] = []
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch = _LEADER_ID_AND_EPOCH

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[PartitionProduceResponse, int]:
        if version >= 5:
            index, error_code, base_offset, log_append_time_ms, log_start_offset = _PACKED_3.unpack_from(buf, at)
            at += 30
        else:
            index, error_code, base_offset, log_append_time_ms = _PACKED_4.unpack_from(buf, at)
            at += 22
            log_start_offset = -1
        record_errors: list[BatchIndexAndErrorMessage] = []
        if version >= 8:
            if version >= 9:
                count = buf[at] - 1
                if 0 <= count < 0x7F:
                    at += 1
                else:
                    count, at = read_compact_count(buf, at, 6)
            else:
                count, at = read_count(buf, at, 6)
            record_errors = []
            for _ in range(count):
                record_errors_item, at = BatchIndexAndErrorMessage.read(buf, at, version)
                record_errors.append(record_errors_item)
        error_message: str | None = None
        if version >= 8:
            if version >= 9:
                error_message, at = read_compact_nullable_string(buf, at)
            else:
                error_message, at = read_nullable_string(buf, at)
        current_leader: LeaderIdAndEpoch = _LEADER_ID_AND_EPOCH
        if version >= 9:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 0 and version >= 10:
                        current_leader, at = LeaderIdAndEpoch.read(buf, at, version)
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return PartitionProduceResponse(
            index,
            error_code,
            base_offset,
            log_append_time_ms,
            log_start_offset,
            record_errors,
            error_message,
            current_leader,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 5:
            out += _PACKED_3.pack(self.index, self.error_code, self.base_offset, self.log_append_time_ms, self.log_start_offset)
        else:
            out += _PACKED_4.pack(self.index, self.error_code, self.base_offset, self.log_append_time_ms)
        if version >= 8:
            if version >= 9:
                write_compact_count(out, len(self.record_errors))
            else:
                write_count(out, len(self.record_errors))
            for record_errors_item in self.record_errors:
                record_errors_item.write(out, version)
        if version >= 8:
            if version >= 9:
                write_compact_nullable_string(out, self.error_message)
            else:
                write_nullable_string(out, self.error_message)
        if version >= 9:
            tagged: list[tuple[int, Sink]] = []
            if version >= 10:
                if self.current_leader != _LEADER_ID_AND_EPOCH:
                    value = Sink()
                    self.current_leader.write(value, version)
                    tagged.append((0, value))
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)


class TopicProduceResponse(Struct):
    name: str = ""
    topic_id: bytes = NULL_UUID
    partition_responses: list[PartitionProduceResponse] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TopicProduceResponse, int]:
        name: str = ""
        if version <= 12:
            if version >= 9:
                name, at = read_compact_string(buf, at)
            else:
                name, at = read_string(buf, at)
        topic_id: bytes = NULL_UUID
        if version >= 13:
            (topic_id,) = _PACKED_1.unpack_from(buf, at)
            at += 16
        if version >= 9:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 33)
        else:
            count, at = read_count(buf, at, 22)
        partition_responses: list[PartitionProduceResponse] = []
        for _ in range(count):
            partition_responses_item, at = PartitionProduceResponse.read(buf, at, version)
            partition_responses.append(partition_responses_item)
        if version >= 9:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return TopicProduceResponse(name, topic_id, partition_responses), at

    def write(self, out: Sink, version: int) -> None:
        if version <= 12:
            if version >= 9:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
        if version >= 13:
            out += _PACKED_1.pack(self.topic_id)
        if version >= 9:
            write_compact_count(out, len(self.partition_responses))
        else:
            write_count(out, len(self.partition_responses))
        for partition_responses_item in self.partition_responses:
            partition_responses_item.write(out, version)
        if version >= 9:
            out.append(0)


class NodeEndpoint(Struct):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[NodeEndpoint, int]:
        (node_id,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        host, at = read_compact_string(buf, at)
        (port,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        rack, at = read_compact_nullable_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return NodeEndpoint(node_id, host, port, rack), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.node_id)
        write_compact_string(out, self.host)
        out += _PACKED_0.pack(self.port)
        write_compact_nullable_string(out, self.rack)
        out.append(0)


class ProduceRequest(Message):
    KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 3
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_SINCE: ClassVar[int] = 9
    SHAPE: ClassVar[Shape] = (
        (3, 13, "string"),
        (3, 13, 6),
        (3, 13, ("list", ((3, 12, "string"), (13, 13, 16), (3, 13, ("list", ((3, 13, 4), (3, 13, "bytes"),))),))),
    )
    transactional_id: str | None = None
    acks: int = 0
    timeout_ms: int = 0
    topic_data: list[TopicProduceData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ProduceRequest, int]:
        transactional_id: str | None
        if version >= 9:
            transactional_id, at = read_compact_nullable_string(buf, at)
        else:
            transactional_id, at = read_nullable_string(buf, at)
        acks, timeout_ms = _PACKED_5.unpack_from(buf, at)
        at += 6
        if version >= 9:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        topic_data: list[TopicProduceData] = []
        for _ in range(count):
            topic_data_item, at = TopicProduceData.read(buf, at, version)
            topic_data.append(topic_data_item)
        if version >= 9:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return ProduceRequest(transactional_id, acks, timeout_ms, topic_data), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 9:
            write_compact_nullable_string(out, self.transactional_id)
        else:
            write_nullable_string(out, self.transactional_id)
        out += _PACKED_5.pack(self.acks, self.timeout_ms)
        if version >= 9:
            write_compact_count(out, len(self.topic_data))
        else:
            write_count(out, len(self.topic_data))
        for topic_data_item in self.topic_data:
            topic_data_item.write(out, version)
        if version >= 9:
            out.append(0)


class ProduceResponse(Message):
    KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 3
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_SINCE: ClassVar[int] = 9
    responses: list[TopicProduceResponse] = []
    throttle_time_ms: int = 0
    node_endpoints: list[NodeEndpoint] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ProduceResponse, int]:
        if version >= 9:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        responses: list[TopicProduceResponse] = []
        for _ in range(count):
            responses_item, at = TopicProduceResponse.read(buf, at, version)
            responses.append(responses_item)
        (throttle_time_ms,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        node_endpoints: list[NodeEndpoint] = []
        if version >= 9:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 0 and version >= 10:
                        count = buf[at] - 1
                        if 0 <= count < 0x7F:
                            at += 1
                        else:
                            count, at = read_compact_count(buf, at, 11)
                        node_endpoints = []
                        for _ in range(count):
                            node_endpoints_item, at = NodeEndpoint.read(buf, at, version)
                            node_endpoints.append(node_endpoints_item)
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return ProduceResponse(responses, throttle_time_ms, node_endpoints), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 9:
            write_compact_count(out, len(self.responses))
        else:
            write_count(out, len(self.responses))
        for responses_item in self.responses:
            responses_item.write(out, version)
        out += _PACKED_0.pack(self.throttle_time_ms)
        if version >= 9:
            tagged: list[tuple[int, Sink]] = []
            if version >= 10:
                if self.node_endpoints:
                    value = Sink()
                    write_compact_count(value, len(self.node_endpoints))
                    for node_endpoints_item in self.node_endpoints:
                        node_endpoints_item.write(value, version)
                    tagged.append((0, value))
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)
