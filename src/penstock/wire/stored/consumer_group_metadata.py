"""Generated from definitions/stored/consumer_group_metadata.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from penstock.wire.primitives import (
    Sink,
    check_tag,
    read_string,
    read_tag,
    read_tag_count,
    write_string,
    write_tagged,
)
from penstock.wire.stored_codec import StoredKey, Versioned

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">q")


class ConsumerGroupMetadataValue(Versioned):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    epoch: int = 0
    metadata_hash: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ConsumerGroupMetadataValue, int]:
        (epoch,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        metadata_hash: int = 0
        if buf[at]:
            count, at = read_tag_count(buf, at)
            for _ in range(count):
                tag, at, end = read_tag(buf, at)
                if tag == 0:
                    (metadata_hash,) = _PACKED_1.unpack_from(buf, at)
                    at += 8
                else:
                    at = end
                check_tag(at, end)
        else:
            at += 1
        return ConsumerGroupMetadataValue(epoch, metadata_hash), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.epoch)
        tagged: list[tuple[int, Sink]] = []
        if self.metadata_hash != 0:
            value = Sink()
            value += _PACKED_1.pack(self.metadata_hash)
            tagged.append((0, value))
        if tagged:
            write_tagged(out, tagged)
        else:
            out.append(0)


class ConsumerGroupMetadataKey(StoredKey):
    TYPE: ClassVar[int] = 3
    VALUE: ClassVar[type[ConsumerGroupMetadataValue]] = ConsumerGroupMetadataValue
    group_id: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ConsumerGroupMetadataKey, int]:
        group_id, at = read_string(buf, at)
        return ConsumerGroupMetadataKey(group_id), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.group_id)
