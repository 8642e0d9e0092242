"""Generated from definitions/k89_streams_group_describe.txt; do not edit."""

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
_PACKED_1 = Packed(">i")
_PACKED_2 = Packed(">H")
_PACKED_3 = Packed(">iq")
_PACKED_4 = Packed(">?")
_PACKED_5 = Packed(">h")
_PACKED_6 = Packed(">ii")


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


class Subtopology(Struct):
    subtopology_id: str = ""
    source_topics: list[str] = []
    repartition_sink_topics: list[str] = []
    state_changelog_topics: list[TopicInfo] = []
    repartition_source_topics: list[TopicInfo] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Subtopology, int]:
        subtopology_id, at = read_compact_string(buf, at)
        count, at = read_compact_count(buf, at, 1)
        source_topics: list[str] = []
        for _ in range(count):
            source_topics_item, at = read_compact_string(buf, at)
            source_topics.append(source_topics_item)
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
        state_changelog_topics: list[TopicInfo] = []
        for _ in range(count):
            state_changelog_topics_item, at = TopicInfo.read(buf, at, version)
            state_changelog_topics.append(state_changelog_topics_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 9)
        repartition_source_topics: list[TopicInfo] = []
        for _ in range(count):
            repartition_source_topics_item, at = TopicInfo.read(buf, at, version)
            repartition_source_topics.append(repartition_source_topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return Subtopology(
            subtopology_id,
            source_topics,
            repartition_sink_topics,
            state_changelog_topics,
            repartition_source_topics,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.subtopology_id)
        write_compact_count(out, len(self.source_topics))
        for source_topics_item in self.source_topics:
            write_compact_string(out, source_topics_item)
        write_compact_count(out, len(self.repartition_sink_topics))
        for repartition_sink_topics_item in self.repartition_sink_topics:
            write_compact_string(out, repartition_sink_topics_item)
        write_compact_count(out, len(self.state_changelog_topics))
        for state_changelog_topics_item in self.state_changelog_topics:
            state_changelog_topics_item.write(out, version)
        write_compact_count(out, len(self.repartition_source_topics))
        for repartition_source_topics_item in self.repartition_source_topics:
            repartition_source_topics_item.write(out, version)
        out.append(0)


class Topology(Struct):
    epoch: int = 0
    subtopologies: list[Subtopology] | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Topology, int]:
        (epoch,) = _PACKED_1.unpack_from(buf, at)
        at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_nullable_count(buf, at, 6)
        subtopologies: list[Subtopology] | None = None
        if count >= 0:
            subtopologies = []
            for _ in range(count):
                subtopologies_item, at = Subtopology.read(buf, at, version)
                subtopologies.append(subtopologies_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return Topology(epoch, subtopologies), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.epoch)
        write_compact_count(out, -1 if self.subtopologies is None else len(self.subtopologies))
        for subtopologies_item in self.subtopologies or ():
            subtopologies_item.write(out, version)
        out.append(0)


class Endpoint(Struct):
    host: str = ""
    port: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Endpoint, int]:
        host, at = read_compact_string(buf, at)
        (port,) = _PACKED_2.unpack_from(buf, at)
        at += 2
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return Endpoint(host, port), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.host)
        out += _PACKED_2.pack(self.port)
        out.append(0)


class TaskOffset(Struct):
    subtopology_id: str = ""
    partition: int = 0
    offset: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TaskOffset, int]:
        subtopology_id, at = read_compact_string(buf, at)
        partition, offset = _PACKED_3.unpack_from(buf, at)
        at += 12
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return TaskOffset(subtopology_id, partition, offset), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.subtopology_id)
        out += _PACKED_3.pack(self.partition, self.offset)
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
            out += _PACKED_1.pack(partitions_item)
        out.append(0)


class Assignment(Struct):
    active_tasks: list[TaskIds] = []
    standby_tasks: list[TaskIds] = []
    warmup_tasks: list[TaskIds] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Assignment, int]:
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        active_tasks: list[TaskIds] = []
        for _ in range(count):
            active_tasks_item, at = TaskIds.read(buf, at, version)
            active_tasks.append(active_tasks_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        standby_tasks: list[TaskIds] = []
        for _ in range(count):
            standby_tasks_item, at = TaskIds.read(buf, at, version)
            standby_tasks.append(standby_tasks_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        warmup_tasks: list[TaskIds] = []
        for _ in range(count):
            warmup_tasks_item, at = TaskIds.read(buf, at, version)
            warmup_tasks.append(warmup_tasks_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return Assignment(active_tasks, standby_tasks, warmup_tasks), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.active_tasks))
        for active_tasks_item in self.active_tasks:
            active_tasks_item.write(out, version)
        write_compact_count(out, len(self.standby_tasks))
        for standby_tasks_item in self.standby_tasks:
            standby_tasks_item.write(out, version)
        write_compact_count(out, len(self.warmup_tasks))
        for warmup_tasks_item in self.warmup_tasks:
            warmup_tasks_item.write(out, version)
        out.append(0)


class Member(Struct):
    member_id: str = ""
    member_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topology_epoch: int = 0
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] = []
    task_offsets: list[TaskOffset] = []
    task_end_offsets: list[TaskOffset] = []
    assignment: Assignment = field(default_factory=Assignment)
    target_assignment: Assignment = field(default_factory=Assignment)
    is_classic: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[Member, int]:
        member_id, at = read_compact_string(buf, at)
        (member_epoch,) = _PACKED_1.unpack_from(buf, at)
        at += 4
        instance_id, at = read_compact_nullable_string(buf, at)
        rack_id, at = read_compact_nullable_string(buf, at)
        client_id, at = read_compact_string(buf, at)
        client_host, at = read_compact_string(buf, at)
        (topology_epoch,) = _PACKED_1.unpack_from(buf, at)
        at += 4
        process_id, at = read_compact_string(buf, at)
        user_endpoint: Endpoint | None = None
        present, at = read_presence(buf, at)
        if present:
            user_endpoint, at = Endpoint.read(buf, at, version)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        client_tags: list[KeyValue] = []
        for _ in range(count):
            client_tags_item, at = KeyValue.read(buf, at, version)
            client_tags.append(client_tags_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 14)
        task_offsets: list[TaskOffset] = []
        for _ in range(count):
            task_offsets_item, at = TaskOffset.read(buf, at, version)
            task_offsets.append(task_offsets_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 14)
        task_end_offsets: list[TaskOffset] = []
        for _ in range(count):
            task_end_offsets_item, at = TaskOffset.read(buf, at, version)
            task_end_offsets.append(task_end_offsets_item)
        assignment, at = Assignment.read(buf, at, version)
        target_assignment, at = Assignment.read(buf, at, version)
        (is_classic,) = _PACKED_4.unpack_from(buf, at)
        at += 1
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return Member(
            member_id,
            member_epoch,
            instance_id,
            rack_id,
            client_id,
            client_host,
            topology_epoch,
            process_id,
            user_endpoint,
            client_tags,
            task_offsets,
            task_end_offsets,
            assignment,
            target_assignment,
            is_classic,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.member_id)
        out += _PACKED_1.pack(self.member_epoch)
        write_compact_nullable_string(out, self.instance_id)
        write_compact_nullable_string(out, self.rack_id)
        write_compact_string(out, self.client_id)
        write_compact_string(out, self.client_host)
        out += _PACKED_1.pack(self.topology_epoch)
        write_compact_string(out, self.process_id)
        write_presence(out, self.user_endpoint)
        if self.user_endpoint is not None:
            self.user_endpoint.write(out, version)
        write_compact_count(out, len(self.client_tags))
        for client_tags_item in self.client_tags:
            client_tags_item.write(out, version)
        write_compact_count(out, len(self.task_offsets))
        for task_offsets_item in self.task_offsets:
            task_offsets_item.write(out, version)
        write_compact_count(out, len(self.task_end_offsets))
        for task_end_offsets_item in self.task_end_offsets:
            task_end_offsets_item.write(out, version)
        self.assignment.write(out, version)
        self.target_assignment.write(out, version)
        out += _PACKED_4.pack(self.is_classic)
        out.append(0)


class DescribedGroup(Struct):
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    topology: Topology | None = None
    members: list[Member] = []
    authorized_operations: int = -2147483648

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DescribedGroup, int]:
        (error_code,) = _PACKED_5.unpack_from(buf, at)
        at += 2
        error_message, at = read_compact_nullable_string(buf, at)
        group_id, at = read_compact_string(buf, at)
        group_state, at = read_compact_string(buf, at)
        group_epoch, assignment_epoch = _PACKED_6.unpack_from(buf, at)
        at += 8
        topology: Topology | None = None
        present, at = read_presence(buf, at)
        if present:
            topology, at = Topology.read(buf, at, version)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 28)
        members: list[Member] = []
        for _ in range(count):
            members_item, at = Member.read(buf, at, version)
            members.append(members_item)
        (authorized_operations,) = _PACKED_1.unpack_from(buf, at)
        at += 4
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DescribedGroup(
            error_code,
            error_message,
            group_id,
            group_state,
            group_epoch,
            assignment_epoch,
            topology,
            members,
            authorized_operations,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_5.pack(self.error_code)
        write_compact_nullable_string(out, self.error_message)
        write_compact_string(out, self.group_id)
        write_compact_string(out, self.group_state)
        out += _PACKED_6.pack(self.group_epoch, self.assignment_epoch)
        write_presence(out, self.topology)
        if self.topology is not None:
            self.topology.write(out, version)
        write_compact_count(out, len(self.members))
        for members_item in self.members:
            members_item.write(out, version)
        out += _PACKED_1.pack(self.authorized_operations)
        out.append(0)


class StreamsGroupDescribeRequest(Message):
    KEY: ClassVar[int] = 89
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 0, ("list", "string")),
        (0, 0, 1),
    )
    group_ids: list[str] = []
    include_authorized_operations: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[StreamsGroupDescribeRequest, int]:
        count, at = read_compact_count(buf, at, 1)
        group_ids: list[str] = []
        for _ in range(count):
            group_ids_item, at = read_compact_string(buf, at)
            group_ids.append(group_ids_item)
        (include_authorized_operations,) = _PACKED_4.unpack_from(buf, at)
        at += 1
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return StreamsGroupDescribeRequest(group_ids, include_authorized_operations), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.group_ids))
        for group_ids_item in self.group_ids:
            write_compact_string(out, group_ids_item)
        out += _PACKED_4.pack(self.include_authorized_operations)
        out.append(0)


class StreamsGroupDescribeResponse(Message):
    KEY: ClassVar[int] = 89
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    groups: list[DescribedGroup] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[StreamsGroupDescribeResponse, int]:
        (throttle_time_ms,) = _PACKED_1.unpack_from(buf, at)
        at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 20)
        groups: list[DescribedGroup] = []
        for _ in range(count):
            groups_item, at = DescribedGroup.read(buf, at, version)
            groups.append(groups_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return StreamsGroupDescribeResponse(throttle_time_ms, groups), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.throttle_time_ms)
        write_compact_count(out, len(self.groups))
        for groups_item in self.groups:
            groups_item.write(out, version)
        out.append(0)
