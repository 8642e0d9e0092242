"""Generated from definitions/k25_add_offsets_to_txn.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    read_compact_string,
    read_string,
    skip_tagged,
    write_compact_string,
    write_string,
)

_PACKED_0 = Packed(">qh")
_PACKED_1 = Packed(">ih")


class AddOffsetsToTxnRequest(Message):
    KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 3
    SHAPE: ClassVar[Shape] = (
        (0, 4, "string"),
        (0, 4, 10),
        (0, 4, "string"),
    )
    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    group_id: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AddOffsetsToTxnRequest, int]:
        if version >= 3:
            transactional_id, at = read_compact_string(buf, at)
        else:
            transactional_id, at = read_string(buf, at)
        producer_id, producer_epoch = _PACKED_0.unpack_from(buf, at)
        at += 10
        if version >= 3:
            group_id, at = read_compact_string(buf, at)
        else:
            group_id, at = read_string(buf, at)
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AddOffsetsToTxnRequest(
            transactional_id,
            producer_id,
            producer_epoch,
            group_id,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 3:
            write_compact_string(out, self.transactional_id)
        else:
            write_string(out, self.transactional_id)
        out += _PACKED_0.pack(self.producer_id, self.producer_epoch)
        if version >= 3:
            write_compact_string(out, self.group_id)
        else:
            write_string(out, self.group_id)
        if version >= 3:
            out.append(0)


class AddOffsetsToTxnResponse(Message):
    KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int] = 3
    throttle_time_ms: int = 0
    error_code: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[AddOffsetsToTxnResponse, int]:
        throttle_time_ms, error_code = _PACKED_1.unpack_from(buf, at)
        at += 6
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return AddOffsetsToTxnResponse(throttle_time_ms, error_code), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.throttle_time_ms, self.error_code)
        if version >= 3:
            out.append(0)
