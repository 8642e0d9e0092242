"""Generated from definitions/k22_init_producer_id.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    absent,
    read_compact_nullable_string,
    read_nullable_string,
    skip_tagged,
    write_compact_nullable_string,
    write_nullable_string,
)

_PACKED_0 = Packed(">iqh??")
_PACKED_1 = Packed(">i")
_PACKED_2 = Packed(">qh")
_PACKED_3 = Packed(">ihqhqh")
_PACKED_4 = Packed(">ihqh")


class InitProducerIdRequest(Message):
    KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int] = 2
    SHAPE: ClassVar[Shape] = (
        (0, 6, "string"),
        (0, 6, 4),
        (3, 6, 10),
        (6, 6, 2),
    )
    transactional_id: str | None = ""
    transaction_timeout_ms: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    enable2_pc: bool = False
    keep_prepared_txn: bool = False

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[InitProducerIdRequest, int]:
        transactional_id: str | None
        if version >= 2:
            transactional_id, at = read_compact_nullable_string(buf, at)
        else:
            transactional_id, at = read_nullable_string(buf, at)
        if version >= 6:
            transaction_timeout_ms, producer_id, producer_epoch, enable2_pc, keep_prepared_txn = _PACKED_0.unpack_from(buf, at)
            at += 16
        else:
            (transaction_timeout_ms,) = _PACKED_1.unpack_from(buf, at)
            at += 4
            producer_id = -1
            producer_epoch = -1
            if version >= 3:
                producer_id, producer_epoch = _PACKED_2.unpack_from(buf, at)
                at += 10
            enable2_pc = False
            keep_prepared_txn = False
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return InitProducerIdRequest(
            transactional_id,
            transaction_timeout_ms,
            producer_id,
            producer_epoch,
            enable2_pc,
            keep_prepared_txn,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 2:
            write_compact_nullable_string(out, self.transactional_id)
        else:
            write_nullable_string(out, self.transactional_id)
        if version >= 6:
            out += _PACKED_0.pack(self.transaction_timeout_ms, self.producer_id, self.producer_epoch, self.enable2_pc, self.keep_prepared_txn)
        else:
            out += _PACKED_1.pack(self.transaction_timeout_ms)
            if version >= 3:
                out += _PACKED_2.pack(self.producer_id, self.producer_epoch)
            elif self.producer_id != -1 or self.producer_epoch != -1:
                raise absent(version, "producer_id, producer_epoch")
            if self.enable2_pc or self.keep_prepared_txn:
                raise absent(version, "enable2_pc, keep_prepared_txn")
        if version >= 2:
            out.append(0)


class InitProducerIdResponse(Message):
    KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int] = 2
    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id: int = -1
    producer_epoch: int = 0
    ongoing_txn_producer_id: int = -1
    ongoing_txn_producer_epoch: int = -1

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[InitProducerIdResponse, int]:
        if version >= 6:
            throttle_time_ms, error_code, producer_id, producer_epoch, ongoing_txn_producer_id, ongoing_txn_producer_epoch = _PACKED_3.unpack_from(buf, at)
            at += 26
        else:
            throttle_time_ms, error_code, producer_id, producer_epoch = _PACKED_4.unpack_from(buf, at)
            at += 16
            ongoing_txn_producer_id = -1
            ongoing_txn_producer_epoch = -1
        if version >= 2:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return InitProducerIdResponse(
            throttle_time_ms,
            error_code,
            producer_id,
            producer_epoch,
            ongoing_txn_producer_id,
            ongoing_txn_producer_epoch,
        ), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 6:
            out += _PACKED_3.pack(self.throttle_time_ms, self.error_code, self.producer_id, self.producer_epoch, self.ongoing_txn_producer_id, self.ongoing_txn_producer_epoch)
        else:
            out += _PACKED_4.pack(self.throttle_time_ms, self.error_code, self.producer_id, self.producer_epoch)
        if version >= 2:
            out.append(0)
