"""Generated from definitions/k88_streams_group_heartbeat.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct, field

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_numbers,
    read_presence,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_presence,
)

_PACKED_0 = Packed(">ih")
_PACKED_1 = Packed(">h")
_PACKED_2 = Packed(">i")
_PACKED_3 = Packed(">H")
_PACKED_4 = Packed(">iq")
_PACKED_5 = Packed(">b")
_PACKED_6 = Packed(">ii")
_PACKED_7 = Packed(">?")
_PACKED_8 = Packed(">iiii")


class KeyValue(Struct):
    key: str = ""
    value: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[KeyValue, int]:
        key, at = read_compact_string(buf, at)
        value_, at = read_compact_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return KeyValue(key, value_), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.key)
        write_compact_string(out, self.value)
        out.append(0)


class TopicInfo(Struct):
    name: str = ""
    partitions: int = 0
    replication_factor: int = 0
    topic_configs: list[KeyValue] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TopicInfo, int]:
        name, at = read_compact_string(buf, at)
        partitions, replication_factor = _PACKED_0.unpack_from(buf, at)
        at += 6
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        topic_configs: list[KeyValue] = []
        for _ in range(count):
            topic_configs_item, at = KeyValue.read(buf, at, version)
            topic_configs.append(topic_configs_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return TopicInfo(name, partitions, replication_factor, topic_configs), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        out += _PACKED_0.pack(self.partitions, self.replication_factor)
        write_compact_count(out, len(self.topic_configs))
        for topic_configs_item in self.topic_configs:
            topic_configs_item.write(out, version)
        out.append(0)


class CopartitionGroup(Struct):
    source_topics: list[int] = []
    source_topic_regex: list[int] = []
    repartition_source_topics: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CopartitionGroup, int]:
        count, at = read_compact_count(buf, at, 2)
        source_topics, at = read_numbers(buf, at, count, "h", 2)
        count, at = read_compact_count(buf, at, 2)
        source_topic_regex, at = read_numbers(buf, at, count, "h", 2)
        count, at = read_compact_count(buf, at, 2)
        repartition_source_topics, at = read_numbers(buf, at, count, "h", 2)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return CopartitionGroup(source_topics, source_topic_regex, repartition_source_topics), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.source_topics))
        for source_topics_item in self.source_topics:
            out += _PACKED_1.pack(source_topics_item)
        write_compact_count(out, len(self.source_topic_regex))
        for source_topic_regex_item in self.source_topic_regex:
            out += _PACKED_1.pack(source_topic_regex_item)
        write_compact_count(out, len(self.repartition_source_topics))
        for repartition_source_topics_item in self.repartition_source_topics:
            out += _PACKED_1.pack(repartition_source_topics_item)
        out.append(0)


class Subtopology(Struct):
    subtopology_id: str = ""
    source_topics: list[str] = []
    source_topic_regex: list[str] = []
    state_changelog_topics: list[TopicInfo] = []
    repartition_sink_topics: list[str] = []
    repartition_source_topics: list[TopicInfo] = []
    copartition_groups: list[CopartitionGroup] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Subtopology, int]:
        subtopology_id, at = read_compact_string(buf, at)
        count, at = read_compact_count(buf, at, 1)
        source_topics: list[str] = []
        for _ in range(count):
            source_topics_item, at = read_compact_string(buf, at)
            source_topics.append(source_topics_item)
        count, at = read_compact_count(buf, at, 1)
        source_topic_regex: list[str] = []
        for _ in range(count):
            source_topic_regex_item, at = read_compact_string(buf, at)
            source_topic_regex.append(source_topic_regex_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 9)
        state_changelog_topics: list[TopicInfo] = []
        for _ in range(count):
            state_changelog_topics_item, at = TopicInfo.read(buf, at, version)
            state_changelog_topics.append(state_changelog_topics_item)
        count, at = read_compact_count(buf, at, 1)
        repartition_sink_topics: list[str] = []
        for _ in range(count):
            repartition_sink_topics_item, at = read_compact_string(buf, at)
            repartition_sink_topics.append(repartition_sink_topics_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 9)
        repartition_source_topics: list[TopicInfo] = []
        for _ in range(count):
            repartition_source_topics_item, at = TopicInfo.read(buf, at, version)
            repartition_source_topics.append(repartition_source_topics_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 4)
        copartition_groups: list[CopartitionGroup] = []
        for _ in range(count):
            copartition_groups_item, at = CopartitionGroup.read(buf, at, version)
            copartition_groups.append(copartition_groups_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return Subtopology(
            subtopology_id,
            source_topics,
            source_topic_regex,
            state_changelog_topics,
            repartition_sink_topics,
            repartition_source_topics,
            copartition_groups,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.subtopology_id)
        write_compact_count(out, len(self.source_topics))
        for source_topics_item in self.source_topics:
            write_compact_string(out, source_topics_item)
        write_compact_count(out, len(self.source_topic_regex))
        for source_topic_regex_item in self.source_topic_regex:
            write_compact_string(out, source_topic_regex_item)
        write_compact_count(out, len(self.state_changelog_topics))
        for state_changelog_topics_item in self.state_changelog_topics:
            state_changelog_topics_item.write(out, version)
        write_compact_count(out, len(self.repartition_sink_topics))
        for repartition_sink_topics_item in self.repartition_sink_topics:
            write_compact_string(out, repartition_sink_topics_item)
        write_compact_count(out, len(self.repartition_source_topics))
        for repartition_source_topics_item in self.repartition_source_topics:
            repartition_source_topics_item.write(out, version)
        write_compact_count(out, len(self.copartition_groups))
        for copartition_groups_item in self.copartition_groups:
            copartition_groups_item.write(out, version)
        out.append(0)


class Topology(Struct):
    epoch: int = 0
    subtopologies: list[Subtopology] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Topology, int]:
        (epoch,) = _PACKED_2.unpack_from(buf, at)
        at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 8)
        subtopologies: list[Subtopology] = []
        for _ in range(count):
            subtopologies_item, at = Subtopology.read(buf, at, version)
            subtopologies.append(subtopologies_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return Topology(epoch, subtopologies), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.epoch)
        write_compact_count(out, len(self.subtopologies))
        for subtopologies_item in self.subtopologies:
            subtopologies_item.write(out, version)
        out.append(0)


class TaskIds(Struct):
    subtopology_id: str = ""
    partitions: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TaskIds, int]:
        subtopology_id, at = read_compact_string(buf, at)
        count, at = read_compact_count(buf, at, 4)
        partitions, at = read_numbers(buf, at, count, "i", 4)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return TaskIds(subtopology_id, partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.subtopology_id)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            out += _PACKED_2.pack(partitions_item)
        out.append(0)


class Endpoint(Struct):
    host: str = ""
    port: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Endpoint, int]:
        host, at = read_compact_string(buf, at)
        (port,) = _PACKED_3.unpack_from(buf, at)
        at += 2
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return Endpoint(host, port), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.host)
        out += _PACKED_3.pack(self.port)
        out.append(0)


class TaskOffset(Struct):
    subtopology_id: str = ""
    partition: int = 0
    offset: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TaskOffset, int]:
        subtopology_id, at = read_compact_string(buf, at)
        partition, offset = _PACKED_4.unpack_from(buf, at)
        at += 12
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return TaskOffset(subtopology_id, partition, offset), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.subtopology_id)
        out += _PACKED_4.pack(self.partition, self.offset)
        out.append(0)


class Status(Struct):
    status_code: int = 0
    status_detail: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Status, int]:
        (status_code,) = _PACKED_5.unpack_from(buf, at)
        at += 1
        status_detail, at = read_compact_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return Status(status_code, status_detail), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_5.pack(self.status_code)
        write_compact_string(out, self.status_detail)
        out.append(0)


class TopicPartition(Struct):
    topic: str = ""
    partitions: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TopicPartition, int]:
        topic, at = read_compact_string(buf, at)
        count, at = read_compact_count(buf, at, 4)
        partitions, at = read_numbers(buf, at, count, "i", 4)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return TopicPartition(topic, partitions), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.topic)
        write_compact_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            out += _PACKED_2.pack(partitions_item)
        out.append(0)


class EndpointToPartitions(Struct):
    user_endpoint: Endpoint = field(default_factory=Endpoint)
    active_partitions: list[TopicPartition] = []
    standby_partitions: list[TopicPartition] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[EndpointToPartitions, int]:
        user_endpoint, at = Endpoint.read(buf, at, version)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        active_partitions: list[TopicPartition] = []
        for _ in range(count):
            active_partitions_item, at = TopicPartition.read(buf, at, version)
            active_partitions.append(active_partitions_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        standby_partitions: list[TopicPartition] = []
        for _ in range(count):
            standby_partitions_item, at = TopicPartition.read(buf, at, version)
            standby_partitions.append(standby_partitions_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return EndpointToPartitions(user_endpoint, active_partitions, standby_partitions), at

    def write(self, out: Sink, version: int) -> None:
        self.user_endpoint.write(out, version)
        write_compact_count(out, len(self.active_partitions))
        for active_partitions_item in self.active_partitions:
            active_partitions_item.write(out, version)
        write_compact_count(out, len(self.standby_partitions))
        for standby_partitions_item in self.standby_partitions:
            standby_partitions_item.write(out, version)
        out.append(0)


class StreamsGroupHeartbeatRequest(Message):
    KEY: ClassVar[int] = 88
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 0, "string"),
        (0, 0, "string"),
        (0, 0, 8),
        (0, 0, "string"),
        (0, 0, "string"),
        (0, 0, 4),
        (0, 0, ("maybe", ((0, 0, 4), (0, 0, ("list", ((0, 0, "string"), (0, 0, ("list", "string")), (0, 0, ("list", "string")), (0, 0, ("list", ((0, 0, "string"), (0, 0, 6), (0, 0, ("list", ((0, 0, "string"), (0, 0, "string"),))),))), (0, 0, ("list", "string")), (0, 0, ("list", ((0, 0, "string"), (0, 0, 6), (0, 0, ("list", ((0, 0, "string"), (0, 0, "string"),))),))), (0, 0, ("list", ((0, 0, ("list", 2)), (0, 0, ("list", 2)), (0, 0, ("list", 2)),))),))),))),
        (0, 0, ("list", ((0, 0, "string"), (0, 0, ("list", 4)),))),
        (0, 0, ("list", ((0, 0, "string"), (0, 0, ("list", 4)),))),
        (0, 0, ("list", ((0, 0, "string"), (0, 0, ("list", 4)),))),
        (0, 0, "string"),
        (0, 0, ("maybe", ((0, 0, "string"), (0, 0, 2),))),
        (0, 0, ("list", ((0, 0, "string"), (0, 0, "string"),))),
        (0, 0, ("list", ((0, 0, "string"), (0, 0, 12),))),
        (0, 0, ("list", ((0, 0, "string"), (0, 0, 12),))),
        (0, 0, 1),
    )
    group_id: str = ""
    member_id: str = ""
    member_epoch: int = 0
    endpoint_information_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: Topology | None = None
    active_tasks: list[TaskIds] | None = None
    standby_tasks: list[TaskIds] | None = None
    warmup_tasks: list[TaskIds] | None = None
    process_id: str | None = None
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] | None = None
    task_offsets: list[TaskOffset] | None = None
    task_end_offsets: list[TaskOffset] | None = None
    shutdown_application: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[StreamsGroupHeartbeatRequest, int]:
        group_id, at = read_compact_string(buf, at)
        member_id, at = read_compact_string(buf, at)
        member_epoch, endpoint_information_epoch = _PACKED_6.unpack_from(buf, at)
        at += 8
        instance_id, at = read_compact_nullable_string(buf, at)
        rack_id, at = read_compact_nullable_string(buf, at)
        (rebalance_timeout_ms,) = _PACKED_2.unpack_from(buf, at)
        at += 4
        topology: Topology | None = None
        present, at = read_presence(buf, at)
        if present:
            topology, at = Topology.read(buf, at, version)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_nullable_count(buf, at, 3)
        active_tasks: list[TaskIds] | None = None
        if count >= 0:
            active_tasks = []
            for _ in range(count):
                active_tasks_item, at = TaskIds.read(buf, at, version)
                active_tasks.append(active_tasks_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_nullable_count(buf, at, 3)
        standby_tasks: list[TaskIds] | None = None
        if count >= 0:
            standby_tasks = []
            for _ in range(count):
                standby_tasks_item, at = TaskIds.read(buf, at, version)
                standby_tasks.append(standby_tasks_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_nullable_count(buf, at, 3)
        warmup_tasks: list[TaskIds] | None = None
        if count >= 0:
            warmup_tasks = []
            for _ in range(count):
                warmup_tasks_item, at = TaskIds.read(buf, at, version)
                warmup_tasks.append(warmup_tasks_item)
        process_id, at = read_compact_nullable_string(buf, at)
        user_endpoint: Endpoint | None = None
        present, at = read_presence(buf, at)
        if present:
            user_endpoint, at = Endpoint.read(buf, at, version)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_nullable_count(buf, at, 3)
        client_tags: list[KeyValue] | None = None
        if count >= 0:
            client_tags = []
            for _ in range(count):
                client_tags_item, at = KeyValue.read(buf, at, version)
                client_tags.append(client_tags_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_nullable_count(buf, at, 14)
        task_offsets: list[TaskOffset] | None = None
        if count >= 0:
            task_offsets = []
            for _ in range(count):
                task_offsets_item, at = TaskOffset.read(buf, at, version)
                task_offsets.append(task_offsets_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_nullable_count(buf, at, 14)
        task_end_offsets: list[TaskOffset] | None = None
        if count >= 0:
            task_end_offsets = []
            for _ in range(count):
                task_end_offsets_item, at = TaskOffset.read(buf, at, version)
                task_end_offsets.append(task_end_offsets_item)
        (shutdown_application,) = _PACKED_7.unpack_from(buf, at)
        at += 1
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return StreamsGroupHeartbeatRequest(
            group_id,
            member_id,
            member_epoch,
            endpoint_information_epoch,
            instance_id,
            rack_id,
            rebalance_timeout_ms,
            topology,
            active_tasks,
            standby_tasks,
            warmup_tasks,
            process_id,
            user_endpoint,
            client_tags,
            task_offsets,
            task_end_offsets,
            shutdown_application,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.group_id)
        write_compact_string(out, self.member_id)
        out += _PACKED_6.pack(self.member_epoch, self.endpoint_information_epoch)
        write_compact_nullable_string(out, self.instance_id)
        write_compact_nullable_string(out, self.rack_id)
        out += _PACKED_2.pack(self.rebalance_timeout_ms)
        write_presence(out, self.topology)
        if self.topology is not None:
            self.topology.write(out, version)
        write_compact_count(out, -1 if self.active_tasks is None else len(self.active_tasks))
        for active_tasks_item in self.active_tasks or ():
            active_tasks_item.write(out, version)
        write_compact_count(out, -1 if self.standby_tasks is None else len(self.standby_tasks))
        for standby_tasks_item in self.standby_tasks or ():
            standby_tasks_item.write(out, version)
        write_compact_count(out, -1 if self.warmup_tasks is None else len(self.warmup_tasks))
        for warmup_tasks_item in self.warmup_tasks or ():
            warmup_tasks_item.write(out, version)
        write_compact_nullable_string(out, self.process_id)
        write_presence(out, self.user_endpoint)
        if self.user_endpoint is not None:
            self.user_endpoint.write(out, version)
        write_compact_count(out, -1 if self.client_tags is None else len(self.client_tags))
        for client_tags_item in self.client_tags or ():
            client_tags_item.write(out, version)
        write_compact_count(out, -1 if self.task_offsets is None else len(self.task_offsets))
        for task_offsets_item in self.task_offsets or ():
            task_offsets_item.write(out, version)
        write_compact_count(out, -1 if self.task_end_offsets is None else len(self.task_end_offsets))
        for task_end_offsets_item in self.task_end_offsets or ():
            task_end_offsets_item.write(out, version)
        out += _PACKED_7.pack(self.shutdown_application)
        out.append(0)


class StreamsGroupHeartbeatResponse(Message):
    KEY: ClassVar[int] = 88
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    member_id: str = ""
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    acceptable_recovery_lag: int = 0
    task_offset_interval_ms: int = 0
    status: list[Status] | None = None
    active_tasks: list[TaskIds] | None = None
    standby_tasks: list[TaskIds] | None = None
    warmup_tasks: list[TaskIds] | None = None
    endpoint_information_epoch: int = 0
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[StreamsGroupHeartbeatResponse, int]:
        throttle_time_ms, error_code = _PACKED_0.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        member_id, at = read_compact_string(buf, at)
        member_epoch, heartbeat_interval_ms, acceptable_recovery_lag, task_offset_interval_ms = _PACKED_8.unpack_from(buf, at)
        at += 16
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_nullable_count(buf, at, 3)
        status: list[Status] | None = None
        if count >= 0:
            status = []
            for _ in range(count):
                status_item, at = Status.read(buf, at, version)
                status.append(status_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_nullable_count(buf, at, 3)
        active_tasks: list[TaskIds] | None = None
        if count >= 0:
            active_tasks = []
            for _ in range(count):
                active_tasks_item, at = TaskIds.read(buf, at, version)
                active_tasks.append(active_tasks_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_nullable_count(buf, at, 3)
        standby_tasks: list[TaskIds] | None = None
        if count >= 0:
            standby_tasks = []
            for _ in range(count):
                standby_tasks_item, at = TaskIds.read(buf, at, version)
                standby_tasks.append(standby_tasks_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_nullable_count(buf, at, 3)
        warmup_tasks: list[TaskIds] | None = None
        if count >= 0:
            warmup_tasks = []
            for _ in range(count):
                warmup_tasks_item, at = TaskIds.read(buf, at, version)
                warmup_tasks.append(warmup_tasks_item)
        (endpoint_information_epoch,) = _PACKED_2.unpack_from(buf, at)
        at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_nullable_count(buf, at, 7)
        partitions_by_user_endpoint: list[EndpointToPartitions] | None = None
        if count >= 0:
            partitions_by_user_endpoint = []
            for _ in range(count):
                partitions_by_user_endpoint_item, at = EndpointToPartitions.read(buf, at, version)
                partitions_by_user_endpoint.append(partitions_by_user_endpoint_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return StreamsGroupHeartbeatResponse(
            throttle_time_ms,
            error_code,
            error_message,
            member_id,
            member_epoch,
            heartbeat_interval_ms,
            acceptable_recovery_lag,
            task_offset_interval_ms,
            status,
            active_tasks,
            standby_tasks,
            warmup_tasks,
            endpoint_information_epoch,
            partitions_by_user_endpoint,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.throttle_time_ms, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        write_compact_string(out, self.member_id)
        out += _PACKED_8.pack(self.member_epoch, self.heartbeat_interval_ms, self.acceptable_recovery_lag, self.task_offset_interval_ms)
        write_compact_count(out, -1 if self.status is None else len(self.status))
        for status_item in self.status or ():
            status_item.write(out, version)
        write_compact_count(out, -1 if self.active_tasks is None else len(self.active_tasks))
        for active_tasks_item in self.active_tasks or ():
            active_tasks_item.write(out, version)
        write_compact_count(out, -1 if self.standby_tasks is None else len(self.standby_tasks))
        for standby_tasks_item in self.standby_tasks or ():
            standby_tasks_item.write(out, version)
        write_compact_count(out, -1 if self.warmup_tasks is None else len(self.warmup_tasks))
        for warmup_tasks_item in self.warmup_tasks or ():
            warmup_tasks_item.write(out, version)
        out += _PACKED_2.pack(self.endpoint_information_epoch)
        write_compact_count(out, -1 if self.partitions_by_user_endpoint is None else len(self.partitions_by_user_endpoint))
        for partitions_by_user_endpoint_item in self.partitions_by_user_endpoint or ():
            partitions_by_user_endpoint_item.write(out, version)
        out.append(0)
