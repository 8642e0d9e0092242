"""Generated from definitions/stored/consumer_group_member_metadata.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.primitives import (
    Sink,
    check_tag,
    read_compact_bytes,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_presence,
    read_string,
    read_tag,
    read_tag_count,
    skip_tagged,
    write_compact_bytes,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_presence,
    write_string,
    write_tagged,
)
from penstock.wire.stored_codec import StoredKey, Versioned

_PACKED_0 = Packed(">i")


class ClassicProtocol(Struct):
    name: str = ""
    metadata: bytes = b""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ClassicProtocol, int]:
        name, at = read_compact_string(buf, at)
        metadata, at = read_compact_bytes(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ClassicProtocol(name, metadata), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.name)
        write_compact_bytes(out, self.metadata)
        out.append(0)


class ClassicMemberMetadata(Struct):
    session_timeout_ms: int = 0
    supported_protocols: list[ClassicProtocol] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ClassicMemberMetadata, int]:
        (session_timeout_ms,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 3)
        supported_protocols: list[ClassicProtocol] = []
        for _ in range(count):
            supported_protocols_item, at = ClassicProtocol.read(buf, at, version)
            supported_protocols.append(supported_protocols_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ClassicMemberMetadata(session_timeout_ms, supported_protocols), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.session_timeout_ms)
        write_compact_count(out, len(self.supported_protocols))
        for supported_protocols_item in self.supported_protocols:
            supported_protocols_item.write(out, version)
        out.append(0)


class ConsumerGroupMemberMetadataValue(Versioned):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    instance_id: str | None = ""
    rack_id: str | None = ""
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = []
    subscribed_topic_regex: str | None = ""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = ""
    classic_member_metadata: ClassicMemberMetadata | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ConsumerGroupMemberMetadataValue, int]:
        instance_id, at = read_compact_nullable_string(buf, at)
        rack_id, at = read_compact_nullable_string(buf, at)
        client_id, at = read_compact_string(buf, at)
        client_host, at = read_compact_string(buf, at)
        count, at = read_compact_count(buf, at, 1)
        subscribed_topic_names: list[str] = []
        for _ in range(count):
            subscribed_topic_names_item, at = read_compact_string(buf, at)
            subscribed_topic_names.append(subscribed_topic_names_item)
        subscribed_topic_regex, at = read_compact_nullable_string(buf, at)
        (rebalance_timeout_ms,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        server_assignor, at = read_compact_nullable_string(buf, at)
        classic_member_metadata: ClassicMemberMetadata | None = None
        if buf[at]:
            count, at = read_tag_count(buf, at)
            for _ in range(count):
                tag, at, end = read_tag(buf, at)
                if tag == 0:
                    classic_member_metadata = None
                    present, at = read_presence(buf, at)
                    if present:
                        classic_member_metadata, at = ClassicMemberMetadata.read(buf, at, version)
                else:
                    at = end
                check_tag(at, end)
        else:
            at += 1
        return ConsumerGroupMemberMetadataValue(
            instance_id,
            rack_id,
            client_id,
            client_host,
            subscribed_topic_names,
            subscribed_topic_regex,
            rebalance_timeout_ms,
            server_assignor,
            classic_member_metadata,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_nullable_string(out, self.instance_id)
        write_compact_nullable_string(out, self.rack_id)
        write_compact_string(out, self.client_id)
        write_compact_string(out, self.client_host)
        write_compact_count(out, len(self.subscribed_topic_names))
        for subscribed_topic_names_item in self.subscribed_topic_names:
            write_compact_string(out, subscribed_topic_names_item)
        write_compact_nullable_string(out, self.subscribed_topic_regex)
        out += _PACKED_0.pack(self.rebalance_timeout_ms)
        write_compact_nullable_string(out, self.server_assignor)
        tagged: list[tuple[int, Sink]] = []
        if self.classic_member_metadata is not None:
            value = Sink()
            write_presence(value, self.classic_member_metadata)
            if self.classic_member_metadata is not None:
                self.classic_member_metadata.write(value, version)
            tagged.append((0, value))
        if tagged:
            write_tagged(out, tagged)
        else:
            out.append(0)


class ConsumerGroupMemberMetadataKey(StoredKey):
    TYPE: ClassVar[int] = 5
    VALUE: ClassVar[type[ConsumerGroupMemberMetadataValue]] = ConsumerGroupMemberMetadataValue
    group_id: str = ""
    member_id: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ConsumerGroupMemberMetadataKey, int]:
        group_id, at = read_string(buf, at)
        member_id, at = read_string(buf, at)
        return ConsumerGroupMemberMetadataKey(group_id, member_id), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.group_id)
        write_string(out, self.member_id)
