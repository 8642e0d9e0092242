"""Generated from definitions/k01_fetch.txt; do not edit."""

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
    read_compact_nullable_records,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_nullable_count,
    read_nullable_records,
    read_numbers,
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
    write_string,
    write_tagged,
)
from penstock.world.ports import Part

_PACKED_0 = Packed(">iq")
_PACKED_1 = Packed(">iiqiqi")
_PACKED_2 = Packed(">i")
_PACKED_3 = Packed(">q")
_PACKED_4 = Packed(">16s")
_PACKED_5 = Packed(">ii")
_PACKED_6 = Packed(">qi")
_PACKED_7 = Packed(">qq")
_PACKED_8 = Packed(">ihqqq")
_PACKED_9 = Packed(">ihqq")
_PACKED_10 = Packed(">iiib")
_PACKED_11 = Packed(">ihi")


class ReplicaState(Struct, frozen=True):
    replica_id: int = -1
    replica_epoch: int = -1

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ReplicaState, int]:
        replica_id, replica_epoch = _PACKED_0.unpack_from(buf, at)
        at += 12
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ReplicaState(replica_id, replica_epoch), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.replica_id, self.replica_epoch)
        out.append(0)


_REPLICA_STATE = ReplicaState()


class FetchPartition(Struct):
    partition: int = 0
    current_leader_epoch: int = -1
    fetch_offset: int = 0
    last_fetched_epoch: int = -1
    log_start_offset: int = -1
    partition_max_bytes: int = 0
    replica_directory_id: bytes = NULL_UUID
    high_watermark: int = 9223372036854775807

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[FetchPartition, int]:
        if version >= 12:
            partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes = _PACKED_1.unpack_from(buf, at)
            at += 32
        else:
            (partition,) = _PACKED_2.unpack_from(buf, at)
            at += 4
            current_leader_epoch = -1
            if version >= 9:
                (current_leader_epoch,) = _PACKED_2.unpack_from(buf, at)
                at += 4
            (fetch_offset,) = _PACKED_3.unpack_from(buf, at)
            at += 8
            last_fetched_epoch = -1
            log_start_offset = -1
            if version >= 5:
                (log_start_offset,) = _PACKED_3.unpack_from(buf, at)
                at += 8
            (partition_max_bytes,) = _PACKED_2.unpack_from(buf, at)
            at += 4
        replica_directory_id: bytes = NULL_UUID
        high_watermark: int = 9223372036854775807
        if version >= 12:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 0 and version >= 17:
                        (replica_directory_id,) = _PACKED_4.unpack_from(buf, at)
                        at += 16
                    elif tag == 1 and version >= 18:
                        (high_watermark,) = _PACKED_3.unpack_from(buf, at)
                        at += 8
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return FetchPartition(
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            log_start_offset,
            partition_max_bytes,
            replica_directory_id,
            high_watermark,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 12:
            out += _PACKED_1.pack(self.partition, self.current_leader_epoch, self.fetch_offset, self.last_fetched_epoch, self.log_start_offset, self.partition_max_bytes)
        else:
            out += _PACKED_2.pack(self.partition)
            if version >= 9:
                out += _PACKED_2.pack(self.current_leader_epoch)
            out += _PACKED_3.pack(self.fetch_offset)
            if self.last_fetched_epoch != -1:
                raise absent(version, "last_fetched_epoch")
            if version >= 5:
                out += _PACKED_3.pack(self.log_start_offset)
            out += _PACKED_2.pack(self.partition_max_bytes)
        if version >= 12:
            tagged: list[tuple[int, Sink]] = []
            if version >= 17:
                if self.replica_directory_id != NULL_UUID:
                    value = Sink()
                    value += _PACKED_4.pack(self.replica_directory_id)
                    tagged.append((0, value))
            if version >= 18:
                if self.high_watermark != 9223372036854775807:
                    value = Sink()
                    value += _PACKED_3.pack(self.high_watermark)
                    tagged.append((1, value))
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)


class FetchTopic(Struct):
    topic: str = ""
    topic_id: bytes = NULL_UUID
    partitions: list[FetchPartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[FetchTopic, int]:
        topic: str = ""
        if version <= 12:
            if version >= 12:
                topic, at = read_compact_string(buf, at)
            else:
                topic, at = read_string(buf, at)
        topic_id: bytes = NULL_UUID
        if version >= 13:
            (topic_id,) = _PACKED_4.unpack_from(buf, at)
            at += 16
        if version >= 12:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 33)
        else:
            count, at = read_count(buf, at, 16)
        partitions: list[FetchPartition] = []
        for _ in range(count):
            partitions_item, at = FetchPartition.read(buf, at, version)
            partitions.append(partitions_item)
        if version >= 12:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return FetchTopic(topic, topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        if version <= 12:
            if version >= 12:
                write_compact_string(out, self.topic)
            else:
                write_string(out, self.topic)
        if version >= 13:
            out += _PACKED_4.pack(self.topic_id)
        if version >= 12:
            write_compact_count(out, len(self.partitions))
        else:
            write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        if version >= 12:
            out.append(0)


class ForgottenTopic(Struct):
    topic: str = ""
    topic_id: bytes = NULL_UUID
    partitions: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ForgottenTopic, int]:
        topic: str = ""
        if version <= 12:
            if version >= 12:
                topic, at = read_compact_string(buf, at)
            else:
                topic, at = read_string(buf, at)
        topic_id: bytes = NULL_UUID
        if version >= 13:
            (topic_id,) = _PACKED_4.unpack_from(buf, at)
            at += 16
        if version >= 12:
            count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 4)
        partitions, at = read_numbers(buf, at, count, "i", 4)
        if version >= 12:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return ForgottenTopic(topic, topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        if version <= 12:
            if version >= 12:
                write_compact_string(out, self.topic)
            else:
                write_string(out, self.topic)
        if version >= 13:
            out += _PACKED_4.pack(self.topic_id)
        if version >= 12:
            write_compact_count(out, len(self.partitions))
        else:
            write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            out += _PACKED_2.pack(partitions_item)
        if version >= 12:
            out.append(0)


class EpochEndOffset(Struct, frozen=True):
    epoch: int = -1
    end_offset: int = -1

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[EpochEndOffset, int]:
        epoch, end_offset = _PACKED_0.unpack_from(buf, at)
        at += 12
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return EpochEndOffset(epoch, end_offset), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.epoch, self.end_offset)
        out.append(0)


_EPOCH_END_OFFSET = EpochEndOffset()


class LeaderIdAndEpoch(Struct, frozen=True):
    leader_id: int = -1
    leader_epoch: int = -1

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


_LEADER_ID_AND_EPOCH = LeaderIdAndEpoch()


class SnapshotId(Struct, frozen=True):
    end_offset: int = -1
    epoch: int = -1

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[SnapshotId, int]:
        end_offset, epoch = _PACKED_6.unpack_from(buf, at)
        at += 12
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return SnapshotId(end_offset, epoch), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_6.pack(self.end_offset, self.epoch)
        out.append(0)


_SNAPSHOT_ID = SnapshotId()


class AbortedTransaction(Struct):
    producer_id: int = 0
    first_offset: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AbortedTransaction, int]:
        producer_id, first_offset = _PACKED_7.unpack_from(buf, at)
        at += 16
        if version >= 12:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AbortedTransaction(producer_id, first_offset), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_7.pack(self.producer_id, self.first_offset)
        if version >= 12:
            out.append(0)


class PartitionData(Struct):
    partition_index: int = 0
    error_code: int = 0
    high_watermark: int = 0
    last_stable_offset: int = -1
    log_start_offset: int = -1
    diverging_epoch: EpochEndOffset = _EPOCH_END_OFFSET
    current_leader: LeaderIdAndEpoch = _LEADER_ID_AND_EPOCH
    snapshot_id: SnapshotId = _SNAPSHOT_ID
    deleted_to: int = -1
    aborted_transactions: list[AbortedTransaction] | None = []
    preferred_read_replica: int = -1
    records: Part | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[PartitionData, int]:
        if version >= 5:
            partition_index, error_code, high_watermark, last_stable_offset, log_start_offset = _PACKED_8.unpack_from(buf, at)
            at += 30
        else:
            partition_index, error_code, high_watermark, last_stable_offset = _PACKED_9.unpack_from(buf, at)
            at += 22
            log_start_offset = -1
        if version >= 12:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_nullable_count(buf, at, 17)
        else:
            count, at = read_nullable_count(buf, at, 16)
        aborted_transactions: list[AbortedTransaction] | None = None
        if count >= 0:
            aborted_transactions = []
            for _ in range(count):
                aborted_transactions_item, at = AbortedTransaction.read(buf, at, version)
                aborted_transactions.append(aborted_transactions_item)
        preferred_read_replica: int = -1
        if version >= 11:
            (preferred_read_replica,) = _PACKED_2.unpack_from(buf, at)
            at += 4
        records: Part | None
        if version >= 12:
            records, at = read_compact_nullable_records(buf, at)
        else:
            records, at = read_nullable_records(buf, at)
        diverging_epoch: EpochEndOffset = _EPOCH_END_OFFSET
        current_leader: LeaderIdAndEpoch = _LEADER_ID_AND_EPOCH
        snapshot_id: SnapshotId = _SNAPSHOT_ID
        deleted_to: int = -1
        if version >= 12:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 0:
                        diverging_epoch, at = EpochEndOffset.read(buf, at, version)
                    elif tag == 1:
                        current_leader, at = LeaderIdAndEpoch.read(buf, at, version)
                    elif tag == 2:
                        snapshot_id, at = SnapshotId.read(buf, at, version)
                    elif tag == 10000:
                        (deleted_to,) = _PACKED_3.unpack_from(buf, at)
                        at += 8
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return PartitionData(
            partition_index,
            error_code,
            high_watermark,
            last_stable_offset,
            log_start_offset,
            diverging_epoch,
            current_leader,
            snapshot_id,
            deleted_to,
            aborted_transactions,
            preferred_read_replica,
            records,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 5:
            out += _PACKED_8.pack(self.partition_index, self.error_code, self.high_watermark, self.last_stable_offset, self.log_start_offset)
        else:
            out += _PACKED_9.pack(self.partition_index, self.error_code, self.high_watermark, self.last_stable_offset)
        if version >= 12:
            write_compact_count(out, -1 if self.aborted_transactions is None else len(self.aborted_transactions))
        else:
            write_count(out, -1 if self.aborted_transactions is None else len(self.aborted_transactions))
        for aborted_transactions_item in self.aborted_transactions or ():
            aborted_transactions_item.write(out, version)
        if version >= 11:
            out += _PACKED_2.pack(self.preferred_read_replica)
        if version >= 12:
            write_compact_nullable_records(out, self.records)
        else:
            write_nullable_records(out, self.records)
        if version >= 12:
            tagged: list[tuple[int, Sink]] = []
            if self.diverging_epoch != _EPOCH_END_OFFSET:
                value = Sink()
                self.diverging_epoch.write(value, version)
                tagged.append((0, value))
            if self.current_leader != _LEADER_ID_AND_EPOCH:
                value = Sink()
                self.current_leader.write(value, version)
                tagged.append((1, value))
            if self.snapshot_id != _SNAPSHOT_ID:
                value = Sink()
                self.snapshot_id.write(value, version)
                tagged.append((2, value))
            if self.deleted_to != -1:
                value = Sink()
                value += _PACKED_3.pack(self.deleted_to)
                tagged.append((10000, value))
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)


class FetchableTopicResponse(Struct):
    topic: str = ""
    topic_id: bytes = NULL_UUID
    partitions: list[PartitionData] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[FetchableTopicResponse, int]:
        topic: str = ""
        if version <= 12:
            if version >= 12:
                topic, at = read_compact_string(buf, at)
            else:
                topic, at = read_string(buf, at)
        topic_id: bytes = NULL_UUID
        if version >= 13:
            (topic_id,) = _PACKED_4.unpack_from(buf, at)
            at += 16
        if version >= 12:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 37)
        else:
            count, at = read_count(buf, at, 30)
        partitions: list[PartitionData] = []
        for _ in range(count):
            partitions_item, at = PartitionData.read(buf, at, version)
            partitions.append(partitions_item)
        if version >= 12:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return FetchableTopicResponse(topic, topic_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        if version <= 12:
            if version >= 12:
                write_compact_string(out, self.topic)
            else:
                write_string(out, self.topic)
        if version >= 13:
            out += _PACKED_4.pack(self.topic_id)
        if version >= 12:
            write_compact_count(out, len(self.partitions))
        else:
            write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        if version >= 12:
            out.append(0)


class NodeEndpoint(Struct):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[NodeEndpoint, int]:
        (node_id,) = _PACKED_2.unpack_from(buf, at)
        at += 4
        host, at = read_compact_string(buf, at)
        (port,) = _PACKED_2.unpack_from(buf, at)
        at += 4
        rack, at = read_compact_nullable_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return NodeEndpoint(node_id, host, port, rack), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.node_id)
        write_compact_string(out, self.host)
        out += _PACKED_2.pack(self.port)
        write_compact_nullable_string(out, self.rack)
        out.append(0)


class FetchRequest(Message):
    KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 4
    MAX_VERSION: ClassVar[int] = 18
    FLEXIBLE_SINCE: ClassVar[int] = 12
    SHAPE: ClassVar[Shape] = (
        (4, 14, 4),
        (4, 18, 13),
        (7, 18, 8),
        (4, 18, ("list", ((4, 12, "string"), (13, 18, 16), (4, 18, ("list", ((4, 18, 4), (9, 18, 4), (4, 18, 8), (12, 18, 4), (5, 18, 8), (4, 18, 4),))),))),
        (7, 18, ("list", ((7, 12, "string"), (13, 18, 16), (7, 18, ("list", 4)),))),
        (11, 18, "string"),
    )
    cluster_id: str | None = None
    replica_id: int = -1
    replica_state: ReplicaState = _REPLICA_STATE
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 2147483647
    isolation_level: int = 0
    session_id: int = 0
    session_epoch: int = -1
    topics: list[FetchTopic] = []
    forgotten_topics_data: list[ForgottenTopic] = []
    rack_id: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[FetchRequest, int]:
        replica_id: int = -1
        if version <= 14:
            (replica_id,) = _PACKED_2.unpack_from(buf, at)
            at += 4
        max_wait_ms, min_bytes, max_bytes, isolation_level = _PACKED_10.unpack_from(buf, at)
        at += 13
        session_id: int = 0
        session_epoch: int = -1
        if version >= 7:
            session_id, session_epoch = _PACKED_5.unpack_from(buf, at)
            at += 8
        if version >= 12:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        topics: list[FetchTopic] = []
        for _ in range(count):
            topics_item, at = FetchTopic.read(buf, at, version)
            topics.append(topics_item)
        forgotten_topics_data: list[ForgottenTopic] = []
        if version >= 7:
            if version >= 12:
                count = buf[at] - 1
                if 0 <= count < 0x7F:
                    at += 1
                else:
                    count, at = read_compact_count(buf, at, 3)
            else:
                count, at = read_count(buf, at, 6)
            forgotten_topics_data = []
            for _ in range(count):
                forgotten_topics_data_item, at = ForgottenTopic.read(buf, at, version)
                forgotten_topics_data.append(forgotten_topics_data_item)
        rack_id: str = ""
        if version >= 11:
            if version >= 12:
                rack_id, at = read_compact_string(buf, at)
            else:
                rack_id, at = read_string(buf, at)
        cluster_id: str | None = None
        replica_state: ReplicaState = _REPLICA_STATE
        if version >= 12:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 0:
                        cluster_id, at = read_compact_nullable_string(buf, at)
                    elif tag == 1 and version >= 15:
                        replica_state, at = ReplicaState.read(buf, at, version)
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return FetchRequest(
            cluster_id,
            replica_id,
            replica_state,
            max_wait_ms,
            min_bytes,
            max_bytes,
            isolation_level,
            session_id,
            session_epoch,
            topics,
            forgotten_topics_data,
            rack_id,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version <= 14:
            out += _PACKED_2.pack(self.replica_id)
        elif self.replica_id != -1:
            raise absent(version, "replica_id")
        out += _PACKED_10.pack(self.max_wait_ms, self.min_bytes, self.max_bytes, self.isolation_level)
        if version >= 7:
            out += _PACKED_5.pack(self.session_id, self.session_epoch)
        if version >= 12:
            write_compact_count(out, len(self.topics))
        else:
            write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 7:
            if version >= 12:
                write_compact_count(out, len(self.forgotten_topics_data))
            else:
                write_count(out, len(self.forgotten_topics_data))
            for forgotten_topics_data_item in self.forgotten_topics_data:
                forgotten_topics_data_item.write(out, version)
        elif self.forgotten_topics_data:
            raise absent(version, "forgotten_topics_data")
        if version >= 11:
            if version >= 12:
                write_compact_string(out, self.rack_id)
            else:
                write_string(out, self.rack_id)
        if version >= 12:
            tagged: list[tuple[int, Sink]] = []
            if self.cluster_id is not None:
                value = Sink()
                write_compact_nullable_string(value, self.cluster_id)
                tagged.append((0, value))
            if version >= 15:
                if self.replica_state != _REPLICA_STATE:
                    value = Sink()
                    self.replica_state.write(value, version)
                    tagged.append((1, value))
            elif self.replica_state != _REPLICA_STATE:
                raise absent(version, "replica_state")
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)
        elif self.replica_state != _REPLICA_STATE:
            raise absent(version, "replica_state")


class FetchResponse(Message):
    KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 4
    MAX_VERSION: ClassVar[int] = 18
    FLEXIBLE_SINCE: ClassVar[int] = 12
    throttle_time_ms: int = 0
    error_code: int = 0
    session_id: int = 0
    responses: list[FetchableTopicResponse] = []
    node_endpoints: list[NodeEndpoint] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[FetchResponse, int]:
        if version >= 7:
            throttle_time_ms, error_code, session_id = _PACKED_11.unpack_from(buf, at)
            at += 10
        else:
            (throttle_time_ms,) = _PACKED_2.unpack_from(buf, at)
            at += 4
            error_code = 0
            session_id = 0
        if version >= 12:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        responses: list[FetchableTopicResponse] = []
        for _ in range(count):
            responses_item, at = FetchableTopicResponse.read(buf, at, version)
            responses.append(responses_item)
        node_endpoints: list[NodeEndpoint] = []
        if version >= 12:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 0 and version >= 16:
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
        return FetchResponse(
            throttle_time_ms,
            error_code,
            session_id,
            responses,
            node_endpoints,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 7:
            out += _PACKED_11.pack(self.throttle_time_ms, self.error_code, self.session_id)
        else:
            out += _PACKED_2.pack(self.throttle_time_ms)
        if version >= 12:
            write_compact_count(out, len(self.responses))
        else:
            write_count(out, len(self.responses))
        for responses_item in self.responses:
            responses_item.write(out, version)
        if version >= 12:
            tagged: list[tuple[int, Sink]] = []
            if version >= 16:
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
