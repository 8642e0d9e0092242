"""Generated from definitions/k16_list_groups.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    absent,
    check_tag,
    read_compact_count,
    read_compact_string,
    read_count,
    read_numbers,
    read_string,
    read_tag,
    read_tag_count,
    write_compact_count,
    write_compact_string,
    write_count,
    write_string,
    write_tagged,
)

_PACKED_0 = Packed(">?")
_PACKED_1 = Packed(">ih")
_PACKED_2 = Packed(">h")
_PACKED_3 = Packed(">i")


class ListedGroup(Struct):
    group_id: str = ""
    protocol_type: str = ""
    group_state: str = ""
    group_type: str = ""
    is_reading: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ListedGroup, int]:
        if version >= 3:
            group_id, at = read_compact_string(buf, at)
        else:
            group_id, at = read_string(buf, at)
        if version >= 3:
            protocol_type, at = read_compact_string(buf, at)
        else:
            protocol_type, at = read_string(buf, at)
        group_state: str = ""
        if version >= 4:
            group_state, at = read_compact_string(buf, at)
        group_type: str = ""
        if version >= 5:
            group_type, at = read_compact_string(buf, at)
        is_reading: bool = False
        if version >= 3:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 10000:
                        (is_reading,) = _PACKED_0.unpack_from(buf, at)
                        at += 1
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return ListedGroup(group_id, protocol_type, group_state, group_type, is_reading), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 3:
            write_compact_string(out, self.group_id)
        else:
            write_string(out, self.group_id)
        if version >= 3:
            write_compact_string(out, self.protocol_type)
        else:
            write_string(out, self.protocol_type)
        if version >= 4:
            write_compact_string(out, self.group_state)
        if version >= 5:
            write_compact_string(out, self.group_type)
        if version >= 3:
            tagged: list[tuple[int, Sink]] = []
            if self.is_reading:
                value = Sink()
                value += _PACKED_0.pack(self.is_reading)
                tagged.append((10000, value))
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)


class ListGroupsRequest(Message):
    KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 3
    SHAPE: ClassVar[Shape] = (
        (4, 5, ("list", "string")),
        (5, 5, ("list", "string")),
    )
    states_filter: list[str] = []
    types_filter: list[str] = []
    reads_topic: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ListGroupsRequest, int]:
        states_filter: list[str] = []
        if version >= 4:
            count, at = read_compact_count(buf, at, 1)
            states_filter = []
            for _ in range(count):
                states_filter_item, at = read_compact_string(buf, at)
                states_filter.append(states_filter_item)
        types_filter: list[str] = []
        if version >= 5:
            count, at = read_compact_count(buf, at, 1)
            types_filter = []
            for _ in range(count):
                types_filter_item, at = read_compact_string(buf, at)
                types_filter.append(types_filter_item)
        reads_topic: str = ""
        if version >= 3:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 10000:
                        reads_topic, at = read_compact_string(buf, at)
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return ListGroupsRequest(states_filter, types_filter, reads_topic), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 4:
            write_compact_count(out, len(self.states_filter))
            for states_filter_item in self.states_filter:
                write_compact_string(out, states_filter_item)
        elif self.states_filter:
            raise absent(version, "states_filter")
        if version >= 5:
            write_compact_count(out, len(self.types_filter))
            for types_filter_item in self.types_filter:
                write_compact_string(out, types_filter_item)
        elif self.types_filter:
            raise absent(version, "types_filter")
        if version >= 3:
            tagged: list[tuple[int, Sink]] = []
            if self.reads_topic != "":
                value = Sink()
                write_compact_string(value, self.reads_topic)
                tagged.append((10000, value))
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)


class ListGroupsResponse(Message):
    KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 3
    throttle_time_ms: int = 0
    error_code: int = 0
    groups: list[ListedGroup] = []
    coordinated: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ListGroupsResponse, int]:
        if version >= 1:
            throttle_time_ms, error_code = _PACKED_1.unpack_from(buf, at)
            at += 6
        else:
            throttle_time_ms = 0
            (error_code,) = _PACKED_2.unpack_from(buf, at)
            at += 2
        if version >= 3:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_count(buf, at, 3)
        else:
            count, at = read_count(buf, at, 4)
        groups: list[ListedGroup] = []
        for _ in range(count):
            groups_item, at = ListedGroup.read(buf, at, version)
            groups.append(groups_item)
        coordinated: list[int] = []
        if version >= 3:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 10000:
                        count, at = read_compact_count(buf, at, 0)
                        coordinated, at = read_numbers(buf, at, count, "i", 4)
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return ListGroupsResponse(throttle_time_ms, error_code, groups, coordinated), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            out += _PACKED_1.pack(self.throttle_time_ms, self.error_code)
        else:
            out += _PACKED_2.pack(self.error_code)
        if version >= 3:
            write_compact_count(out, len(self.groups))
        else:
            write_count(out, len(self.groups))
        for groups_item in self.groups:
            groups_item.write(out, version)
        if version >= 3:
            tagged: list[tuple[int, Sink]] = []
            if self.coordinated:
                value = Sink()
                write_compact_count(value, len(self.coordinated))
                for coordinated_item in self.coordinated:
                    value += _PACKED_3.pack(coordinated_item)
                tagged.append((10000, value))
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)
