"""Generated from definitions/k92_delete_share_group_offsets.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
)

_PACKED_0 = Packed(">16sh")
_PACKED_1 = Packed(">ih")


class DeleteShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteShareGroupOffsetsRequestTopic, int]:
        topic_name, at = read_compact_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DeleteShareGroupOffsetsRequestTopic(topic_name), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.topic_name)
        out.append(0)


class DeleteShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = ""
    topic_id: bytes = NULL_UUID
    error_code: int = 0
    error_message: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteShareGroupOffsetsResponseTopic, int]:
        topic_name, at = read_compact_string(buf, at)
        topic_id, error_code = _PACKED_0.unpack_from(buf, at)
        at += 18
        error_message, at = read_compact_nullable_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DeleteShareGroupOffsetsResponseTopic(
            topic_name,
            topic_id,
            error_code,
            error_message,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.topic_name)
        out += _PACKED_0.pack(self.topic_id, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        out.append(0)


class DeleteShareGroupOffsetsRequest(Message):
    KEY: ClassVar[int] = 92
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 0, "string"),
        (0, 0, ("list", ((0, 0, "string"),))),
    )
    group_id: str = ""
    topics: list[DeleteShareGroupOffsetsRequestTopic] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteShareGroupOffsetsRequest, int]:
        group_id, at = read_compact_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 2)
        topics: list[DeleteShareGroupOffsetsRequestTopic] = []
        for _ in range(count):
            topics_item, at = DeleteShareGroupOffsetsRequestTopic.read(buf, at, version)
            topics.append(topics_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DeleteShareGroupOffsetsRequest(group_id, topics), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.group_id)
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(0)


class DeleteShareGroupOffsetsResponse(Message):
    KEY: ClassVar[int] = 92
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    responses: list[DeleteShareGroupOffsetsResponseTopic] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[DeleteShareGroupOffsetsResponse, int]:
        throttle_time_ms, error_code = _PACKED_1.unpack_from(buf, at)
        at += 6
        error_message, at = read_compact_nullable_string(buf, at)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 21)
        responses: list[DeleteShareGroupOffsetsResponseTopic] = []
        for _ in range(count):
            responses_item, at = DeleteShareGroupOffsetsResponseTopic.read(buf, at, version)
            responses.append(responses_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return DeleteShareGroupOffsetsResponse(
            throttle_time_ms,
            error_code,
            error_message,
            responses,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.throttle_time_ms, self.error_code)
        write_compact_nullable_string(out, self.error_message)
        write_compact_count(out, len(self.responses))
        for responses_item in self.responses:
            responses_item.write(out, version)
        out.append(0)
