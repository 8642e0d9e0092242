"""Generated from definitions/stored/transaction_log.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.primitives import (
    Sink,
    check_tag,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_string,
    read_count,
    read_nullable_count,
    read_numbers,
    read_string,
    read_tag,
    read_tag_count,
    skip_tagged,
    write_compact_count,
    write_compact_string,
    write_count,
    write_string,
    write_tagged,
)
from penstock.wire.stored_codec import StoredKey, Versioned

_PACKED_0 = Packed(">i")
_PACKED_1 = Packed(">qhib")
_PACKED_2 = Packed(">qq")
_PACKED_3 = Packed(">q")
_PACKED_4 = Packed(">h")


class PartitionsSchema(Struct):
    topic: str = ""
    partition_ids: list[int] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[PartitionsSchema, int]:
        if version >= 1:
            topic, at = read_compact_string(buf, at)
        else:
            topic, at = read_string(buf, at)
        if version >= 1:
            count, at = read_compact_count(buf, at, 4)
        else:
            count, at = read_count(buf, at, 4)
        partition_ids, at = read_numbers(buf, at, count, "i", 4)
        if version >= 1:
            if buf[at]:
                at = skip_tagged(buf, at)
            else:
                at += 1
        return PartitionsSchema(topic, partition_ids), at

    def write(self, out: Sink, version: int) -> None:
        if version >= 1:
            write_compact_string(out, self.topic)
        else:
            write_string(out, self.topic)
        if version >= 1:
            write_compact_count(out, len(self.partition_ids))
        else:
            write_count(out, len(self.partition_ids))
        for partition_ids_item in self.partition_ids:
            out += _PACKED_0.pack(partition_ids_item)
        if version >= 1:
            out.append(0)


class TransactionLogValue(Versioned):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    producer_id: int = 0
    previous_producer_id: int = -1
    next_producer_id: int = -1
    producer_epoch: int = 0
    next_producer_epoch: int = -1
    transaction_timeout_ms: int = 0
    transaction_status: int = 0
    transaction_partitions: list[PartitionsSchema] | None = []
    transaction_last_update_timestamp_ms: int = 0
    transaction_start_timestamp_ms: int = 0
    client_transaction_version: int = 0

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TransactionLogValue, int]:
        producer_id, producer_epoch, transaction_timeout_ms, transaction_status = _PACKED_1.unpack_from(buf, at)
        at += 15
        if version >= 1:
            count = buf[at] - 1
            if 0 <= count < 0x7F:
                at += 1
            else:
                count, at = read_compact_nullable_count(buf, at, 3)
        else:
            count, at = read_nullable_count(buf, at, 6)
        transaction_partitions: list[PartitionsSchema] | None = None
        if count >= 0:
            transaction_partitions = []
            for _ in range(count):
                transaction_partitions_item, at = PartitionsSchema.read(buf, at, version)
                transaction_partitions.append(transaction_partitions_item)
        transaction_last_update_timestamp_ms, transaction_start_timestamp_ms = _PACKED_2.unpack_from(buf, at)
        at += 16
        previous_producer_id: int = -1
        next_producer_id: int = -1
        client_transaction_version: int = 0
        next_producer_epoch: int = -1
        if version >= 1:
            if buf[at]:
                count, at = read_tag_count(buf, at)
                for _ in range(count):
                    tag, at, end = read_tag(buf, at)
                    if tag == 0:
                        (previous_producer_id,) = _PACKED_3.unpack_from(buf, at)
                        at += 8
                    elif tag == 1:
                        (next_producer_id,) = _PACKED_3.unpack_from(buf, at)
                        at += 8
                    elif tag == 2:
                        (client_transaction_version,) = _PACKED_4.unpack_from(buf, at)
                        at += 2
                    elif tag == 3:
                        (next_producer_epoch,) = _PACKED_4.unpack_from(buf, at)
                        at += 2
                    else:
                        at = end
                    check_tag(at, end)
            else:
                at += 1
        return TransactionLogValue(
            producer_id,
            previous_producer_id,
            next_producer_id,
            producer_epoch,
            next_producer_epoch,
            transaction_timeout_ms,
            transaction_status,
            transaction_partitions,
            transaction_last_update_timestamp_ms,
            transaction_start_timestamp_ms,
            client_transaction_version,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.producer_id, self.producer_epoch, self.transaction_timeout_ms, self.transaction_status)
        if version >= 1:
            write_compact_count(out, -1 if self.transaction_partitions is None else len(self.transaction_partitions))
        else:
            write_count(out, -1 if self.transaction_partitions is None else len(self.transaction_partitions))
        for transaction_partitions_item in self.transaction_partitions or ():
            transaction_partitions_item.write(out, version)
        out += _PACKED_2.pack(self.transaction_last_update_timestamp_ms, self.transaction_start_timestamp_ms)
        if version >= 1:
            tagged: list[tuple[int, Sink]] = []
            if self.previous_producer_id != -1:
                value = Sink()
                value += _PACKED_3.pack(self.previous_producer_id)
                tagged.append((0, value))
            if self.next_producer_id != -1:
                value = Sink()
                value += _PACKED_3.pack(self.next_producer_id)
                tagged.append((1, value))
            if self.client_transaction_version != 0:
                value = Sink()
                value += _PACKED_4.pack(self.client_transaction_version)
                tagged.append((2, value))
            if self.next_producer_epoch != -1:
                value = Sink()
                value += _PACKED_4.pack(self.next_producer_epoch)
                tagged.append((3, value))
            if tagged:
                write_tagged(out, tagged)
            else:
                out.append(0)


class TransactionLogKey(StoredKey):
    TYPE: ClassVar[int] = 0
    VALUE: ClassVar[type[TransactionLogValue]] = TransactionLogValue
    transactional_id: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TransactionLogKey, int]:
        transactional_id, at = read_string(buf, at)
        return TransactionLogKey(transactional_id), at

    def write(self, out: Sink, version: int) -> None:
        write_string(out, self.transactional_id)
