"""Generated from definitions/k34_alter_replica_log_dirs.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_compact_count,
    read_compact_string,
    read_count,
    read_numbers,
    read_string,
    skip_tagged,
    write_compact_count,
    write_compact_string,
    write_count,
    write_string,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">ih")


class AlterReplicaLogDirTopic(Struct):
    name: str = ""
    partitions: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterReplicaLogDirTopic, int]:
        if version >= 2:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        if version >= 2:
            count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 4)
        partitions, at = read_numbers(buf, at, count, "i", 4)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AlterReplicaLogDirTopic(name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_string(out, self.name)
        else:
            write_string(out, self.name)
        if version >= 2:
            write_compact_count(out, len(self.partitions))
        else:
            write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            out += _PACKED_0.pack(partitions_item)
        if version >= 2:
            out.append(0)


class AlterReplicaLogDir(Struct):
    path: str = ""
    topics: list[AlterReplicaLogDirTopic] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterReplicaLogDir, int]:
        if version >= 2:
            path, at = read_compact_string(buf, at)
        else:
            path, at = read_string(buf, at)
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        topics: list[AlterReplicaLogDirTopic] = []
        for _ in range(count):
            topics_item, at = AlterReplicaLogDirTopic.read(buf, at, version)
            topics.append(topics_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AlterReplicaLogDir(path, topics), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_string(out, self.path)
        else:
            write_string(out, self.path)
        if version >= 2:
            write_compact_count(out, len(self.topics))
        else:
            write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 2:
            out.append(0)


class AlterReplicaLogDirPartitionResult(Struct):
    partition_index: int = 0
    error_code: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterReplicaLogDirPartitionResult, int]:
        partition_index, error_code = _PACKED_1.unpack_from(buf, at)
        at += 6
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AlterReplicaLogDirPartitionResult(partition_index, error_code), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.partition_index, self.error_code)
        if version >= 2:
            out.append(0)


class AlterReplicaLogDirTopicResult(Struct):
    topic_name: str = ""
    partitions: list[AlterReplicaLogDirPartitionResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterReplicaLogDirTopicResult, int]:
        if version >= 2:
            topic_name, at = read_compact_string(buf, at)
        else:
            topic_name, at = read_string(buf, at)
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 7)
        else:
            count, at = read_count(buf, at, 6)
        partitions: list[AlterReplicaLogDirPartitionResult] = []
        for _ in range(count):
            partitions_item, at = AlterReplicaLogDirPartitionResult.read(buf, at, version)
            partitions.append(partitions_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AlterReplicaLogDirTopicResult(topic_name, partitions), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_string(out, self.topic_name)
        else:
            write_string(out, self.topic_name)
        if version >= 2:
            write_compact_count(out, len(self.partitions))
        else:
            write_count(out, len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.write(out, version)
        if version >= 2:
            out.append(0)


class AlterReplicaLogDirsRequest(Message):
    KEY: ClassVar[int] = 34
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2
    SHAPE: ClassVar[Shape] = (
        (1, 2, ("list", ((1, 2, "string"), (1, 2, ("list", ((1, 2, "string"), (1, 2, ("list", 4)),))),))),
    )
    dirs: list[AlterReplicaLogDir] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterReplicaLogDirsRequest, int]:
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        dirs: list[AlterReplicaLogDir] = []
        for _ in range(count):
            dirs_item, at = AlterReplicaLogDir.read(buf, at, version)
            dirs.append(dirs_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AlterReplicaLogDirsRequest(dirs), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_count(out, len(self.dirs))
        else:
            write_count(out, len(self.dirs))
        for dirs_item in self.dirs:
            dirs_item.write(out, version)
        if version >= 2:
            out.append(0)


class AlterReplicaLogDirsResponse(Message):
    KEY: ClassVar[int] = 34
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 2
    throttle_time_ms: int = 0
    results: list[AlterReplicaLogDirTopicResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AlterReplicaLogDirsResponse, int]:
        (throttle_time_ms,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 6)
        results: list[AlterReplicaLogDirTopicResult] = []
        for _ in range(count):
            results_item, at = AlterReplicaLogDirTopicResult.read(buf, at, version)
            results.append(results_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AlterReplicaLogDirsResponse(throttle_time_ms, results), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.throttle_time_ms)
        if version >= 2:
            write_compact_count(out, len(self.results))
        else:
            write_count(out, len(self.results))
        for results_item in self.results:
            results_item.write(out, version)
        if version >= 2:
            out.append(0)
