"""Generated from definitions/k66_list_transactions.txt; do not edit."""

from __future__ import annotations

from struct import Struct as Packed
from typing import ClassVar

from msgspec import Struct

from penstock.wire.codec import Message, Shape
from penstock.wire.primitives import (
    Sink,
    absent,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_numbers,
    skip_tagged,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
)

_PACKED_0 = Packed(">q")
_PACKED_1 = Packed(">ih")


class TransactionState(Struct):
    transactional_id: str = ""
    producer_id: int = 0
    transaction_state: str = ""

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[TransactionState, int]:
        transactional_id, at = read_compact_string(buf, at)
        (producer_id,) = _PACKED_0.unpack_from(buf, at)
        at += 8
        transaction_state, at = read_compact_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return TransactionState(transactional_id, producer_id, transaction_state), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_string(out, self.transactional_id)
        out += _PACKED_0.pack(self.producer_id)
        write_compact_string(out, self.transaction_state)
        out.append(0)


class ListTransactionsRequest(Message):
    KEY: ClassVar[int] = 66
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 0
    SHAPE: ClassVar[Shape] = (
        (0, 2, ("list", "string")),
        (0, 2, ("list", 8)),
        (1, 2, 8),
        (2, 2, "string"),
    )
    state_filters: list[str] = []
    producer_id_filters: list[int] = []
    duration_filter: int = -1
    transactional_id_pattern: str | None = None

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ListTransactionsRequest, int]:
        count, at = read_compact_count(buf, at, 1)
        state_filters: list[str] = []
        for _ in range(count):
            state_filters_item, at = read_compact_string(buf, at)
            state_filters.append(state_filters_item)
        count, at = read_compact_count(buf, at, 8)
        producer_id_filters, at = read_numbers(buf, at, count, "q", 8)
        duration_filter: int = -1
        if version >= 1:
            (duration_filter,) = _PACKED_0.unpack_from(buf, at)
            at += 8
        transactional_id_pattern: str | None = None
        if version >= 2:
            transactional_id_pattern, at = read_compact_nullable_string(buf, at)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ListTransactionsRequest(
            state_filters,
            producer_id_filters,
            duration_filter,
            transactional_id_pattern,
        ), at

    def write(self, out: Sink, version: int) -> None:
        write_compact_count(out, len(self.state_filters))
        for state_filters_item in self.state_filters:
            write_compact_string(out, state_filters_item)
        write_compact_count(out, len(self.producer_id_filters))
        for producer_id_filters_item in self.producer_id_filters:
            out += _PACKED_0.pack(producer_id_filters_item)
        if version >= 1:
            out += _PACKED_0.pack(self.duration_filter)
        elif self.duration_filter != -1:
            raise absent(version, "duration_filter")
        if version >= 2:
            write_compact_nullable_string(out, self.transactional_id_pattern)
        elif self.transactional_id_pattern is not None:
            raise absent(version, "transactional_id_pattern")
        out.append(0)


class ListTransactionsResponse(Message):
    KEY: ClassVar[int] = 66
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int] = 0
    throttle_time_ms: int = 0
    error_code: int = 0
    unknown_state_filters: list[str] = []
    transaction_states: list[TransactionState] = []

    @staticmethod
    def read(buf: memoryview, at: int, version: int) -> tuple[ListTransactionsResponse, int]:
        throttle_time_ms, error_code = _PACKED_1.unpack_from(buf, at)
        at += 6
        count, at = read_compact_count(buf, at, 1)
        unknown_state_filters: list[str] = []
        for _ in range(count):
            unknown_state_filters_item, at = read_compact_string(buf, at)
            unknown_state_filters.append(unknown_state_filters_item)
        count = buf[at] - 1
        if 0 <= count < 0x7F:
            at += 1
        else:
            count, at = read_compact_count(buf, at, 11)
        transaction_states: list[TransactionState] = []
        for _ in range(count):
            transaction_states_item, at = TransactionState.read(buf, at, version)
            transaction_states.append(transaction_states_item)
        if buf[at]:
            at = skip_tagged(buf, at)
        else:
            at += 1
        return ListTransactionsResponse(
            throttle_time_ms,
            error_code,
            unknown_state_filters,
            transaction_states,
        ), at

    def write(self, out: Sink, version: int) -> None:
        out += _PACKED_1.pack(self.throttle_time_ms, self.error_code)
        write_compact_count(out, len(self.unknown_state_filters))
        for unknown_state_filters_item in self.unknown_state_filters:
            write_compact_string(out, unknown_state_filters_item)
        write_compact_count(out, len(self.transaction_states))
        for transaction_states_item in self.transaction_states:
            transaction_states_item.write(out, version)
        out.append(0)
