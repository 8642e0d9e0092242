"""Generated from definitions/k19_create_topics.txt; do not edit."""

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
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_nullable_string,
    read_numbers,
    read_string,
    read_tag,
    read_tag_count,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_nullable_string,
    write_string,
    write_tagged,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">ih")
_PACKED_2 = Packed(">?b?")
_PACKED_3 = Packed(">16sh")
_PACKED_4 = Packed(">h")
_PACKED_5 = Packed(">i?")


class CreatableReplicaAssignment(Struct):
    partition_index: int = 0
    broker_ids: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CreatableReplicaAssignment, int]:
        (partition_index,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        if version >= 5:
            count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 4)
        broker_ids, at = read_numbers(buf, at, count, "i", 4)
        if version >= 5:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return CreatableReplicaAssignment(partition_index, broker_ids), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.partition_index)
        if version >= 5:
            write_compact_count(out, len(self.broker_ids))
        else:
            write_count(out, len(self.broker_ids))
        for broker_ids_item in self.broker_ids:
            out += _PACKED_0.pack(broker_ids_item)
        if version >= 5:
            out.append(0)


class CreatableTopicConfig(Struct):
    name: str = ""
    value: str | None = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CreatableTopicConfig, int]:
        if version >= 5:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        value_: str | None
        if version >= 5:
            value_, at = read_compact_nullable_string(buf, at)
        else:
            value_, at = read_nullable_string(buf, at)
        if version >= 5:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return CreatableTopicConfig(name, value_), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 5:
            write_compact_string(out, self.name)
        else:
            write_string(out, self.name)
        if version >= 5:
            write_compact_nullable_string(out, self.value)
        else:
            write_nullable_string(out, self.value)
        if version >= 5:
            out.append(0)


class CreatableTopic(Struct):
    name: str = ""
    num_partitions: int = 0
    replication_factor: int = 0
    assignments: list[CreatableReplicaAssignment] = []
    configs: list[CreatableTopicConfig] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CreatableTopic, int]:
        if version >= 5:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        num_partitions, replication_factor = _PACKED_1.unpack_from(buf, at)
        at += 6
        if version >= 5:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 6)
        else:
            count, at = read_count(buf, at, 8)
        assignments: list[CreatableReplicaAssignment] = []
        for _ in range(count):
            assignments_item, at = CreatableReplicaAssignment.read(buf, at, version)
            assignments.append(assignments_item)
        if version >= 5:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 4)
        configs: list[CreatableTopicConfig] = []
        for _ in range(count):
            configs_item, at = CreatableTopicConfig.read(buf, at, version)
            configs.append(configs_item)
        if version >= 5:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return CreatableTopic(name, num_partitions, replication_factor, assignments, configs), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 5:
            write_compact_string(out, self.name)
        else:
            write_string(out, self.name)
        out += _PACKED_1.pack(self.num_partitions, self.replication_factor)
        if version >= 5:
            write_compact_count(out, len(self.assignments))
        else:
            write_count(out, len(self.assignments))
        for assignments_item in self.assignments:
            assignments_item.write(out, version)
        if version >= 5:
            write_compact_count(out, len(self.configs))
        else:
            write_count(out, len(self.configs))
        for configs_item in self.configs:
            configs_item.write(out, version)
        if version >= 5:
            out.append(0)


class CreatableTopicConfigs(Struct):
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: int = -1
    is_sensitive: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CreatableTopicConfigs, int]:
        name, at = read_compact_string(buf, at)
        value_, at = read_compact_nullable_string(buf, at)
        read_only, config_source, is_sensitive = _PACKED_2.unpack_from(buf, at)
        at += 3
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return CreatableTopicConfigs(name, value_, read_only, config_source, is_sensitive), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        write_compact_nullable_string(out, self.value)
        out += _PACKED_2.pack(self.read_only, self.config_source, self.is_sensitive)
        out.append(0)


class CreatableTopicResult(Struct):
    name: str = ""
    topic_id: bytes = NULL_UUID
    error_code: int = 0
    error_message: str | None = None
    topic_config_error_code: int = 0
    num_partitions: int = -1
    replication_factor: int = -1
    configs: list[CreatableTopicConfigs] | None = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CreatableTopicResult, int]:
        if version >= 5:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        if version >= 7:
            topic_id, error_code = _PACKED_3.unpack_from(buf, at)
            at += 18
        else:
            topic_id = NULL_UUID
            (error_code,) = _PACKED_4.unpack_from(buf, at)
            at += 2
        error_message: str | None
        if version >= 5:
            error_message, at = read_compact_nullable_string(buf, at)
        else:
            error_message, at = read_nullable_string(buf, at)
        num_partitions: int = -1
        replication_factor: int = -1
        if version >= 5:
            num_partitions, replication_factor = _PACKED_1.unpack_from(buf, at)
            at += 6
        configs: list[CreatableTopicConfigs] | None = []
        if version >= 5:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_nullable_count(buf, at, 6)
            configs = None
            if count >= 0:
                configs = []
                for _ in range(count):
                    configs_item, at = CreatableTopicConfigs.read(buf, at, version)
                    configs.append(configs_item)
        topic_config_error_code: int = 0
        if version >= 5:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 0:
                        (topic_config_error_code,) = _PACKED_4.unpack_from(buf, at)
                        at += 2
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return CreatableTopicResult(
            name,
            topic_id,
            error_code,
            error_message,
            topic_config_error_code,
            num_partitions,
            replication_factor,
            configs,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 5:
            write_compact_string(out, self.name)
        else:
            write_string(out, self.name)
        if version >= 7:
            out += _PACKED_3.pack(self.topic_id, self.error_code)
        else:
            out += _PACKED_4.pack(self.error_code)
        if version >= 5:
            write_compact_nullable_string(out, self.error_message)
        else:
            write_nullable_string(out, self.error_message)
        if version >= 5:
            out += _PACKED_1.pack(self.num_partitions, self.replication_factor)
        if version >= 5:
            write_compact_count(out, -1 if self.configs is None else len(self.configs))
            for configs_item in self.configs or ():
                configs_item.write(out, version)
        if version >= 5:
            tagged: list[tuple[int, Sink]] = []
            if self.topic_config_error_code != 0:
                value = Sink()
                value += _PACKED_4.pack(self.topic_config_error_code)
                tagged.append((0, value))
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)


class CreateTopicsRequest(Message):
    KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 7
    FLEXIBLE_SINCE: ClassVar[int] = 5
    SHAPE: ClassVar[Shape] = (
        (2, 7, ("list", ((2, 7, "string"), (2, 7, 6), (2, 7, ("list", ((2, 7, 4), (2, 7, ("list", 4)),))), (2, 7, ("list", ((2, 7, "string"), (2, 7, "string"),))),))),
        (2, 7, 5),
    )
    topics: list[CreatableTopic] = []
    timeout_ms: int = 60000
    validate_only: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CreateTopicsRequest, int]:
        if version >= 5:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 10)
        else:
            count, at = read_count(buf, at, 16)
        topics: list[CreatableTopic] = []
        for _ in range(count):
            topics_item, at = CreatableTopic.read(buf, at, version)
            topics.append(topics_item)
        timeout_ms, validate_only = _PACKED_5.unpack_from(buf, at)
        at += 5
        if version >= 5:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return CreateTopicsRequest(topics, timeout_ms, validate_only), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 5:
            write_compact_count(out, len(self.topics))
        else:
            write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out += _PACKED_5.pack(self.timeout_ms, self.validate_only)
        if version >= 5:
            out.append(0)


class CreateTopicsResponse(Message):
    KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 7
    FLEXIBLE_SINCE: ClassVar[int] = 5
    throttle_time_ms: int = 0
    topics: list[CreatableTopicResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CreateTopicsResponse, int]:
        (throttle_time_ms,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        if version >= 5:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 12)
        else:
            count, at = read_count(buf, at, 6)
        topics: list[CreatableTopicResult] = []
        for _ in range(count):
            topics_item, at = CreatableTopicResult.read(buf, at, version)
            topics.append(topics_item)
        if version >= 5:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return CreateTopicsResponse(throttle_time_ms, topics), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.throttle_time_ms)
        if version >= 5:
            write_compact_count(out, len(self.topics))
        else:
            write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 5:
            out.append(0)
