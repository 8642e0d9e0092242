"""Generated from definitions/stored/share_group_member_metadata.txt; do not edit."""

from __future__ import annotations

from typing import ClassVar

from penstock.wire.primitives import (
    Sink,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_string,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_string,
)
from penstock.wire.stored_codec import StoredKey, Versioned




class ShareGroupMemberMetadataValue(Versioned):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    rack_id: str | None = ""
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareGroupMemberMetadataValue, int]:
        rack_id, at = read_compact_nullable_string(buf, at)
        client_id, at = read_compact_string(buf, at)
        client_host, at = read_compact_string(buf, at)
        count, at = read_compact_count(buf, at, 1)
        subscribed_topic_names: list[str] = []
        for _ in range(count):
            subscribed_topic_names_item, at = read_compact_string(buf, at)
            subscribed_topic_names.append(subscribed_topic_names_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ShareGroupMemberMetadataValue(
            rack_id,
            client_id,
            client_host,
            subscribed_topic_names,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_nullable_string(out, self.rack_id)
        write_compact_string(out, self.client_id)
        write_compact_string(out, self.client_host)
        write_compact_count(out, len(self.subscribed_topic_names))
        for subscribed_topic_names_item in self.subscribed_topic_names:
            write_compact_string(out, subscribed_topic_names_item)
        out.append(0)


class ShareGroupMemberMetadataKey(StoredKey):
    TYPE: ClassVar[int] = 10
    VALUE: ClassVar[type[ShareGroupMemberMetadataValue]] = ShareGroupMemberMetadataValue
    group_id: str = ""
    member_id: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareGroupMemberMetadataKey, int]:
        group_id, at = read_string(buf, at)
        member_id, at = read_string(buf, at)
        return ShareGroupMemberMetadataKey(group_id, member_id), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.group_id)
        write_string(out, self.member_id)
