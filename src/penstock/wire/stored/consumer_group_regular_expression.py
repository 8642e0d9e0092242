"""Generated from definitions/stored/consumer_group_regular_expression.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from penstock.wire.primitives import (
    Sink,
    read_compact_count,
    read_compact_string,
    read_string,
    skip_tagged,
    write_compact_count,
    write_compact_string,
    write_string,
)
from penstock.wire.stored_codec import StoredKey, Versioned

_PACKED_0 = Packed(">qq")


class ConsumerGroupRegularExpressionValue(Versioned):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    topics: list[str] = []
    version: int = 0
    timestamp: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ConsumerGroupRegularExpressionValue, int]:
        count, at = read_compact_count(buf, at, 1)
        topics: list[str] = []
        for _ in range(count):
            topics_item, at = read_compact_string(buf, at)
            topics.append(topics_item)
        version_, timestamp = _PACKED_0.unpack_from(buf, at)
        at += 16
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ConsumerGroupRegularExpressionValue(topics, version_, timestamp), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.topics))
        for topics_item in self.topics:
            write_compact_string(out, topics_item)
        out += _PACKED_0.pack(self.version, self.timestamp)
        out.append(0)


class ConsumerGroupRegularExpressionKey(StoredKey):
    TYPE: ClassVar[int] = 16
    VALUE: ClassVar[type[ConsumerGroupRegularExpressionValue]] = ConsumerGroupRegularExpressionValue
    group_id: str = ""
    regular_expression: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ConsumerGroupRegularExpressionKey, int]:
        group_id, at = read_string(buf, at)
        regular_expression, at = read_string(buf, at)
        return ConsumerGroupRegularExpressionKey(group_id, regular_expression), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.group_id)
        write_string(out, self.regular_expression)
