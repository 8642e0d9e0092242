"""Generated from definitions/stored/share_group_metadata.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from penstock.wire.primitives import (
    Sink,
    read_string,
    skip_tagged,
    write_string,
)
from penstock.wire.stored_codec import StoredKey, Versioned

_PACKED_0 = Packed(">iq")


class ShareGroupMetadataValue(Versioned):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    epoch: int = 0
    metadata_hash: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareGroupMetadataValue, int]:
        epoch, metadata_hash = _PACKED_0.unpack_from(buf, at)
        at += 12
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ShareGroupMetadataValue(epoch, metadata_hash), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.epoch, self.metadata_hash)
        out.append(0)


class ShareGroupMetadataKey(StoredKey):
    TYPE: ClassVar[int] = 11
    VALUE: ClassVar[type[ShareGroupMetadataValue]] = ShareGroupMetadataValue
    group_id: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareGroupMetadataKey, int]:
        group_id, at = read_string(buf, at)
        return ShareGroupMetadataKey(group_id), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.group_id)
