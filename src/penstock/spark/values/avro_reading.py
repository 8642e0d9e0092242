"""Avro's encoding: each reader takes bytes and a position, and gives a value and the next position.

Raises ValueError, IndexError and struct.error for what is not so encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from struct import Struct
from typing import Any

Read = Callable[[bytes, int], tuple[Any, int]]

_FLOAT, _DOUBLE = Struct("<f"), Struct("<d")
_LONG_BITS = 64
_INT_MAX, _LONG_MAX = 1 << 31, 1 << 63


def int64(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    at += 1
    found, shift = byte & 0x7F, 7
    while byte & 0x80:
        byte = data[at]
        at += 1
        found |= (byte & 0x7F) << shift
        shift += 7
        if shift > _LONG_BITS + 6:
            raise ValueError("a number of more than 64 bits")
    if found >> _LONG_BITS:
        raise ValueError("a number of more than 64 bits")
    return (found >> 1) ^ -(found & 1), at


def int32(data: bytes, at: int) -> tuple[int, int]:
    found, at = int64(data, at)
    if not -_INT_MAX <= found < _INT_MAX:
        raise ValueError("a number of more than 32 bits")
    return found, at


def milliseconds(data: bytes, at: int) -> tuple[int, int]:
    """As microseconds, which is what the column has."""
    found, at = int64(data, at)
    if not -_LONG_MAX <= found * 1000 < _LONG_MAX:
        raise ValueError("a time that is too far away")
    return found * 1000, at


def null(data: bytes, at: int) -> tuple[None, int]:
    return None, at


def boolean(data: bytes, at: int) -> tuple[bool, int]:
    if data[at] > 1:
        raise ValueError("neither true nor false")
    return data[at] == 1, at + 1


def float32(data: bytes, at: int) -> tuple[float, int]:
    return _FLOAT.unpack_from(data, at)[0], at + 4


def float64(data: bytes, at: int) -> tuple[float, int]:
    return _DOUBLE.unpack_from(data, at)[0], at + 8


def binary(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = int64(data, at)
    end = at + size
    if size < 0 or end > len(data):
        raise ValueError("more bytes than there are")
    return data[at:end], end


def text(data: bytes, at: int) -> tuple[str, int]:
    found, at = binary(data, at)
    return found.decode(), at


def fixed(size: int) -> Read:
    def read(data: bytes, at: int) -> tuple[bytes, int]:
        if at + size > len(data):
            raise ValueError("more bytes than there are")
        return data[at : at + size], at + size

    return read


def enum(symbols: Sequence[str]) -> Read:
    def read(data: bytes, at: int) -> tuple[str, int]:
        number, at = int64(data, at)
        if not 0 <= number < len(symbols):
            raise ValueError("a symbol that the schema has not")
        return symbols[number], at

    return read


def decimal(inner: Read, digits: int, scale: int) -> Read:
    def read(data: bytes, at: int) -> tuple[Decimal, int]:
        found, at = inner(data, at)
        number = int.from_bytes(found, "big", signed=True)
        if abs(number) >= 10**digits:
            raise ValueError(f"a number of more than {digits} digits")
        return Decimal(f"{number}e{-scale}"), at

    return read


def union(branches: Sequence[Read]) -> Read:
    def read(data: bytes, at: int) -> tuple[Any, int]:
        number, at = int64(data, at)
        if not 0 <= number < len(branches):
            raise ValueError("a branch that the schema has not")
        return branches[number](data, at)

    return read


def record(fields: Sequence[tuple[str, Read]]) -> Read:
    def read(data: bytes, at: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        for name, field in fields:
            found[name], at = field(data, at)
        return found, at

    return read


def array(item: Read) -> Read:
    def read(data: bytes, at: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        count, at = _block(data, at)
        while count:
            for _ in range(count):
                each, at = item(data, at)
                found.append(each)
            count, at = _block(data, at)
        return found, at

    return read


def mapping(item: Read) -> Read:
    def one(data: bytes, at: int) -> tuple[tuple[str, Any], int]:
        key, at = text(data, at)
        value, at = item(data, at)
        return (key, value), at

    return array(one)


def _block(data: bytes, at: int) -> tuple[int, int]:
    """How many items follow. Each takes a byte at least: a few bytes cannot ask for millions."""
    count, at = int64(data, at)
    if count < 0:
        count = -count
        _, at = int64(data, at)  # how many bytes they take
    if count > len(data) - at:
        raise ValueError("more items than there are bytes")
    return count, at
