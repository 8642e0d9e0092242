"""Generated from definitions/k20_delete_topics.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    absent,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_string,
    required,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_string,
)

_PACKED_0 = Packed(">16s")
_PACKED_1 = Packed(">16sh")
_PACKED_2 = Packed(">h")
_PACKED_3 = Packed(">i")


class DeleteTopicState(Struct):
    name: str | None = None
    topic_id: bytes = NULL_UUID

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteTopicState, int]:
        name, at = read_compact_nullable_string(buf, at)
        (topic_id,) = _PACKED_0.unpack_from(buf, at)
        at += 16
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DeleteTopicState(name, topic_id), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_nullable_string(out, self.name)
        out += _PACKED_0.pack(self.topic_id)
        out.append(0)


class DeletableTopicResult(Struct):
    name: str | None = ""
    topic_id: bytes = NULL_UUID
    error_code: int = 0
    error_message: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeletableTopicResult, int]:
        name: str | None
        if version >= 6:
            name, at = read_compact_nullable_string(buf, at)
        elif version >= 4:
            name, at = read_compact_string(buf, at)
        else:
            name, at = read_string(buf, at)
        if version >= 6:
            topic_id, error_code = _PACKED_1.unpack_from(buf, at)
            at += 18
        else:
            topic_id = NULL_UUID
            (error_code,) = _PACKED_2.unpack_from(buf, at)
            at += 2
        error_message: str | None = None
        if version >= 5:
            error_message, at = read_compact_nullable_string(buf, at)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DeletableTopicResult(name, topic_id, error_code, error_message), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 6:
            write_compact_nullable_string(out, self.name)
        elif version >= 4:
            write_compact_string(out, required(self.name, version, "name"))
        else:
            write_string(out, required(self.name, version, "name"))
        if version >= 6:
            out += _PACKED_1.pack(self.topic_id, self.error_code)
        else:
            out += _PACKED_2.pack(self.error_code)
        if version >= 5:
            write_compact_nullable_string(out, self.error_message)
        if version >= 4:
            out.append(0)


class DeleteTopicsRequest(Message):
    KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int] = 4
    SHAPE: ClassVar[Shape] = (
        (6, 6, ("list", ((6, 6, "string"), (6, 6, 16),))),
        (1, 5, ("list", "string")),
        (1, 6, 4),
    )
    topics: list[DeleteTopicState] = []
    topic_names: list[str] = []
    timeout_ms: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteTopicsRequest, int]:
        topics: list[DeleteTopicState] = []
        if version >= 6:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 18)
            topics = []
            for _ in range(count):
                topics_item, at = DeleteTopicState.read(buf, at, version)
                topics.append(topics_item)
        topic_names: list[str] = []
        if version <= 5:
            if version >= 4:
                count, at = read_compact_count(buf, at, 1)
            else:
                count, at = read_count(buf, at, 2)
            topic_names = []
            for _ in range(count):
                if version >= 4:
                    topic_names_item, at = read_compact_string(buf, at)
                else:
                    topic_names_item, at = read_string(buf, at)
                topic_names.append(topic_names_item)
        (timeout_ms,) = _PACKED_3.unpack_from(buf, at)
        at += 4
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DeleteTopicsRequest(topics, topic_names, timeout_ms), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 6:
            write_compact_count(out, len(self.topics))
            for topics_item in self.topics:
                topics_item.write(out, version)
        elif self.topics:
            raise absent(version, "topics")
        if version <= 5:
            if version >= 4:
                write_compact_count(out, len(self.topic_names))
            else:
                write_count(out, len(self.topic_names))
            for topic_names_item in self.topic_names:
                if version >= 4:
                    write_compact_string(out, topic_names_item)
                else:
                    write_string(out, topic_names_item)
        out += _PACKED_3.pack(self.timeout_ms)
        if version >= 4:
            out.append(0)


class DeleteTopicsResponse(Message):
    KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int] = 4
    throttle_time_ms: int = 0
    responses: list[DeletableTopicResult] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteTopicsResponse, int]:
        (throttle_time_ms,) = _PACKED_3.unpack_from(buf, at)
        at += 4
        if version >= 4:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 4)
        responses: list[DeletableTopicResult] = []
        for _ in range(count):
            responses_item, at = DeletableTopicResult.read(buf, at, version)
            responses.append(responses_item)
        if version >= 4:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return DeleteTopicsResponse(throttle_time_ms, responses), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_3.pack(self.throttle_time_ms)
        if version >= 4:
            write_compact_count(out, len(self.responses))
        else:
            write_count(out, len(self.responses))
        for responses_item in self.responses:
            responses_item.write(out, version)
        if version >= 4:
            out.append(0)
