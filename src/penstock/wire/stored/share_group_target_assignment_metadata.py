"""Generated from definitions/stored/share_group_target_assignment_metadata.txt; do not edit."""

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

_PACKED_0 = Packed(">i")


class ShareGroupTargetAssignmentMetadataValue(Versioned):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    assignment_epoch: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareGroupTargetAssignmentMetadataValue, int]:
        (assignment_epoch,) = _PACKED_0.unpack_from(buf, at)
        at += 4
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ShareGroupTargetAssignmentMetadataValue(assignment_epoch), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.assignment_epoch)
        out.append(0)


class ShareGroupTargetAssignmentMetadataKey(StoredKey):
    TYPE: ClassVar[int] = 12
    VALUE: ClassVar[type[ShareGroupTargetAssignmentMetadataValue]] = ShareGroupTargetAssignmentMetadataValue
    group_id: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareGroupTargetAssignmentMetadataKey, int]:
        group_id, at = read_string(buf, at)
        return ShareGroupTargetAssignmentMetadataKey(group_id), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.group_id)
