"""Generated from definitions/k26_end_txn.txt; do not edit."""

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

_PACKED_0 = Packed(">qh?")
_PACKED_1 = Packed(">ihqh")
_PACKED_2 = Packed(">ih")


class EndTxnRequest(Message):
    KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 3
    SHAPE: ClassVar[Shape] = (
        (0, 5, "string"),
        (0, 5, 11),
    )
    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    committed: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[EndTxnRequest, int]:
        if version >= 3:
            transactional_id, at = read_compact_string(buf, at)
        else:
            transactional_id, at = read_string(buf, at)
        producer_id, producer_epoch, committed = _PACKED_0.unpack_from(buf, at)
        at += 11
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return EndTxnRequest(transactional_id, producer_id, producer_epoch, committed), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 3:
            write_compact_string(out, self.transactional_id)
        else:
            write_string(out, self.transactional_id)
        out += _PACKED_0.pack(self.producer_id, self.producer_epoch, self.committed)
        if version >= 3:
            out.append(0)


class EndTxnResponse(Message):
    KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int] = 3
    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id: int = -1
    producer_epoch: int = -1

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[EndTxnResponse, int]:
        if version >= 5:
            throttle_time_ms, error_code, producer_id, producer_epoch = _PACKED_1.unpack_from(buf, at)
            at += 16
        else:
            throttle_time_ms, error_code = _PACKED_2.unpack_from(buf, at)
            at += 6
            producer_id = -1
            producer_epoch = -1
        if version >= 3:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return EndTxnResponse(throttle_time_ms, error_code, producer_id, producer_epoch), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 5:
            out += _PACKED_1.pack(self.throttle_time_ms, self.error_code, self.producer_id, self.producer_epoch)
        else:
            out += _PACKED_2.pack(self.throttle_time_ms, self.error_code)
        if version >= 3:
            out.append(0)
