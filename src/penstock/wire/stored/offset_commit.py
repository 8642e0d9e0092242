"""Generated from definitions/stored/offset_commit.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    check_tag,
    read_compact_string,
    read_string,
    read_tag,
    read_tag_count,
    write_compact_string,
    write_string,
    write_tagged,
)
from penstock.wire.stored_codec import StoredKey, Versioned

_PACKED_0 = Packed(">qi")
_PACKED_1 = Packed(">q")
_PACKED_2 = Packed(">16s")
_PACKED_3 = Packed(">i")


class OffsetCommitValue(Versioned):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    offset: int = 0
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp: int = 0
    expire_timestamp: int = -1
    topic_id: bytes = NULL_UUID

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetCommitValue, int]:
        if version >= 3:
            offset, leader_epoch = _PACKED_0.unpack_from(buf, at)
            at += 12
        else:
            (offset,) = _PACKED_1.unpack_from(buf, at)
            at += 8
            leader_epoch = -1
        if version >= 4:
            metadata, at = read_compact_string(buf, at)
        else:
            metadata, at = read_string(buf, at)
        (commit_timestamp,) = _PACKED_1.unpack_from(buf, at)
        at += 8
        expire_timestamp: int = -1
        if version == 1:
            (expire_timestamp,) = _PACKED_1.unpack_from(buf, at)
            at += 8
        topic_id: bytes = NULL_UUID
        if version >= 4:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 0:
                        (topic_id,) = _PACKED_2.unpack_from(buf, at)
                        at += 16
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return OffsetCommitValue(
            offset,
            leader_epoch,
            metadata,
            commit_timestamp,
            expire_timestamp,
            topic_id,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 3:
            out += _PACKED_0.pack(self.offset, self.leader_epoch)
        else:
            out += _PACKED_1.pack(self.offset)
        if version >= 4:
            write_compact_string(out, self.metadata)
        else:
            write_string(out, self.metadata)
        out += _PACKED_1.pack(self.commit_timestamp)
        if version == 1:
            out += _PACKED_1.pack(self.expire_timestamp)
        if version >= 4:
            tagged: list[tuple[int, Sink]] = []
            if self.topic_id != NULL_UUID:
                value = Sink()
                value += _PACKED_2.pack(self.topic_id)
                tagged.append((0, value))
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)


class OffsetCommitKey(StoredKey):
    TYPE: ClassVar[int] = 1
    VALUE: ClassVar[type[OffsetCommitValue]] = OffsetCommitValue
    group: str = ""
    topic: str = ""
    partition: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[OffsetCommitKey, int]:
        group, at = read_string(buf, at)
        topic, at = read_string(buf, at)
        (partition,) = _PACKED_3.unpack_from(buf, at)
        at += 4
        return OffsetCommitKey(group, topic, partition), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.group)
        write_string(out, self.topic)
        out += _PACKED_3.pack(self.partition)
