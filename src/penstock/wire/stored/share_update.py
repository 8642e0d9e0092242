"""Generated from definitions/stored/share_update.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.primitives import (
    NULL_UUID,
    Sink,
    check_tag,
    read_compact_count,
    read_string,
    read_tag,
    read_tag_count,
    write_compact_count,
    write_string,
    write_tagged,
)
from penstock.wire.stored_codec import StoredKey, Versioned

_PACKED_0 = Packed(">qqbh")
_PACKED_1 = Packed(">h")
_PACKED_2 = Packed(">iiq")
_PACKED_3 = Packed(">i")
_PACKED_4 = Packed(">16si")


class StateBatch(Struct):
    first_offset: int = 0
    last_offset: int = 0
    delivery_state: int = 0
    delivery_count: int = 0
    rejected_after: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[StateBatch, int]:
        first_offset, last_offset, delivery_state, delivery_count = _PACKED_0.unpack_from(buf, at)
        at += 19
        rejected_after: int = 0
        if buf[at]:
            count, at = read_tag_count(buf, at)
            for _ in range(count):
                tag, at, end = read_tag(buf, at)
                if tag == 10000:
                    (rejected_after,) = _PACKED_1.unpack_from(buf, at)
                    at += 2
                else:
                    at = end
                check_tag(at, end)
        else:
            at += 1
        return StateBatch(
            first_offset,
            last_offset,
            delivery_state,
            delivery_count,
            rejected_after,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_0.pack(self.first_offset, self.last_offset, self.delivery_state, self.delivery_count)
        tagged: list[tuple[int, Sink]] = []
        if self.rejected_after != 0:
            value = Sink()
            value += _PACKED_1.pack(self.rejected_after)
            tagged.append((10000, value))
        if tagged:
            write_tagged(out, tagged)
        else:
            out.append(0)


class ShareUpdateValue(Versioned):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    snapshot_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = -1
    state_batches: list[StateBatch] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareUpdateValue, int]:
        snapshot_epoch, leader_epoch, start_offset = _PACKED_2.unpack_from(buf, at)
        at += 16
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 20)
        state_batches: list[StateBatch] = []
        for _ in range(count):
            state_batches_item, at = StateBatch.read(buf, at, version)
            state_batches.append(state_batches_item)
        delivery_complete_count: int = -1
        if buf[at]:
            count, at = read_tag_count(buf, at)
            for _ in range(count):
                tag, at, end = read_tag(buf, at)
                if tag == 0:
                    (delivery_complete_count,) = _PACKED_3.unpack_from(buf, at)
                    at += 4
                else:
                    at = end
                check_tag(at, end)
        else:
            at += 1
        return ShareUpdateValue(
            snapshot_epoch,
            leader_epoch,
            start_offset,
            delivery_complete_count,
            state_batches,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_2.pack(self.snapshot_epoch, self.leader_epoch, self.start_offset)
        write_compact_count(out, len(self.state_batches))
        for state_batches_item in self.state_batches:
            state_batches_item.write(out, version)
        tagged: list[tuple[int, Sink]] = []
        if self.delivery_complete_count != -1:
            value = Sink()
            value += _PACKED_3.pack(self.delivery_complete_count)
            tagged.append((0, value))
        if tagged:
            write_tagged(out, tagged)
        else:
            out.append(0)


class ShareUpdateKey(StoredKey):
    TYPE: ClassVar[int] = 1
    VALUE: ClassVar[type[ShareUpdateValue]] = ShareUpdateValue
    group_id: str = ""
    topic_id: bytes = NULL_UUID
    partition: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ShareUpdateKey, int]:
        group_id, at = read_string(buf, at)
        topic_id, partition = _PACKED_4.unpack_from(buf, at)
        at += 20
        return ShareUpdateKey(group_id, topic_id, partition), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.group_id)
        out += _PACKED_4.pack(self.topic_id, self.partition)
