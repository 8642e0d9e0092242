"""Generated from definitions/k37_create_partitions.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_nullable_count,
    read_nullable_string,
    read_numbers,
    read_string,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_nullable_string,
    write_string,
)

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">h")
_PACKED_2 = Packed(">i?")


class CreatePartitionsAssignment(Struct):
    broker_ids: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CreatePartitionsAssignment, int]:
        if version >= 2:
            count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 4)
        broker_ids, at = read_numbers(buf, at, count, "i", 4)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return CreatePartitionsAssignment(broker_ids), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_count(out, len(self.broker_ids))
        else:
            write_count(out, len(self.broker_ids))
        for broker_ids_item in self.broker_ids:
            out += _PACKED_0.pack(broker_ids_item)
        if version >= 2:
            out.append(0)


class CreatePartitionsTopic(Struct):
    name: str = ""
    count: int = 0
    assignments: list[CreatePartitionsAssignment] | None = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CreatePartitionsTopic, int]:
        if version >= 2:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        (count_,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_nullable_count(buf, at, 2)
        else:
            count, at = read_nullable_count(buf, at, 4)
        assignments: list[CreatePartitionsAssignment] | None = None
        if count >= 0:
            assignments = []
            for _ in range(count):
                assignments_item, at = CreatePartitionsAssignment.read(buf, at, version)
                assignments.append(assignments_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return CreatePartitionsTopic(name, count_, assignments), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_string(out, self.name)
        else:
            write_string(out, self.name)
        out += _PACKED_0.pack(self.count)
        if version >= 2:
            write_compact_count(out, -1 if self.assignments is None else len(self.assignments))
        else:
            write_count(out, -1 if self.assignments is None else len(self.assignments))
        for assignments_item in self.assignments or ():
            assignments_item.write(out, version)
        if version >= 2:
            out.append(0)


class CreatePartitionsTopicResult(Struct):
    name: str = ""
    error_code: int = 0
    error_message: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CreatePartitionsTopicResult, int]:
        if version >= 2:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        (error_code,) = _PACKED_1.unpack_from(buf, at)
        at += 2
        error_message: str | None
        if version >= 2:
            error_message, at = read_compact_nullable_string(buf, at)
        else:
            error_message, at = read_nullable_string(buf, at)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return CreatePartitionsTopicResult(name, error_code, error_message), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_string(out, self.name)
        else:
            write_string(out, self.name)
        out += _PACKED_1.pack(self.error_code)
        if version >= 2:
            write_compact_nullable_string(out, self.error_message)
        else:
            write_nullable_string(out, self.error_message)
        if version >= 2:
            out.append(0)


class CreatePartitionsRequest(Message):
    KEY: ClassVar[int] = 37
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 2
    SHAPE: ClassVar[Shape] = (
        (0, 3, ("list", ((0, 3, "string"), (0, 3, 4), (0, 3, ("list", ((0, 3, ("list", 4)),))),))),
        (0, 3, 5),
    )
    topics: list[CreatePartitionsTopic] = []
    timeout_ms: int = 0
    validate_only: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CreatePartitionsRequest, int]:
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 7)
        else:
            count, at = read_count(buf, at, 10)
        topics: list[CreatePartitionsTopic] = []
        for _ in range(count):
            topics_item, at = CreatePartitionsTopic.read(buf, at, version)
            topics.append(topics_item)
        timeout_ms, validate_only = _PACKED_2.unpack_from(buf, at)
        at += 5
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return CreatePartitionsRequest(topics, timeout_ms, validate_only), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_count(out, len(self.topics))
        else:
            write_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out += _PACKED_2.pack(self.timeout_ms, self.validate_only)
        if version >= 2:
            out.append(0)


class CreatePartitionsResponse(Message):
    KEY: ClassVar[int] = 37
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int] = 2
    throttle_time_ms: int = 0
    results: list[CreatePartitionsTopicResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[CreatePartitionsResponse, int]:
        (throttle_time_ms,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        if version >= 2:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 5)
        else:
            count, at = read_count(buf, at, 6)
        results: list[CreatePartitionsTopicResult] = []
        for _ in range(count):
            results_item, at = CreatePartitionsTopicResult.read(buf, at, version)
            results.append(results_item)
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return CreatePartitionsResponse(throttle_time_ms, results), at

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
