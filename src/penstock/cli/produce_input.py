"""What `penstock produce` reads: lines or JSON objects, and the records that they stand for."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import msgspec

from penstock.errors import Unusable

_CHUNK_BYTES = 1 << 18
LINE_BYTES_MAX = 64 << 20
_NUMBER_MAX = 0x3FFF_FFFF_FFFF_FFFF

_FIELDS = frozenset(
    {"key", "key_base64", "value", "value_base64", "headers", "partition", "timestamp"}
)
_IGNORED = frozenset({"topic", "offset", "size", "batch_size", "crc"})
"""What `consume --json` tells besides: its output can be sent again as it is."""

Headers = tuple[tuple[bytes, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class Input:
    """One record as it was asked for."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None


class Form:
    """How a line becomes a record."""

    def __init__(
        self,
        as_json: bool,
        key: str | None,
        key_separator: str | None,
        headers: list[tuple[str, str]],
        partition: int | None,
        keep_partitions: bool = False,
        wait: tuple[bytes, bytes] | None = None,
    ) -> None:
        """With `wait`, the header that makes records wait, they are as of now."""
        self._as_json = as_json
        self._key = None if key is None else _given(key)
        self._separator = None if key_separator is None else _given(key_separator)
        self._headers = tuple((_given(name), _given(value)) for name, value in headers)
        self._is_waiting = wait is not None
        if wait is not None:
            self._headers += (wait,)
        self._partition = partition
        self._keep_partitions = keep_partitions

    def read(self, line: bytes, number: int) -> Input | None:
        """None for an empty line between JSON objects."""
        if self._as_json:
            return self._read_json(line, number) if line.strip() else None
        key, value = self._key, line
        if self._separator is not None:
            key, found, value = line.partition(self._separator)
            if not found:
                raise Unusable(f"line {number} has no {self._separator.decode()!r} after a key")
        return Input(value, key, self._headers, self._partition)

    def _read_json(self, line: bytes, number: int) -> Input:
        try:
            told = msgspec.json.decode(line, type=dict[str, Any])
            if unknown := told.keys() - _FIELDS - _IGNORED:
                raise ValueError(f"no such field: {', '.join(sorted(unknown))}")
            if not told.keys() & {"value", "value_base64"}:
                raise ValueError("no value; null is one")
            return Input(
                value=_content(told, "value"),
                key=_content(told, "key"),
                headers=_headers(told.get("headers")) + self._headers,
                partition=self._partition_of(told),
                timestamp_ms=None if self._is_waiting else _number(told, "timestamp", None),
            )
        except ValueError as error:  # msgspec's own are ValueErrors too
            raise Unusable(f"line {number} is not a record in JSON: {error}") from None

    def _partition_of(self, told: dict[str, Any]) -> int | None:
        """A record with an offset was consumed: the partition is where it was, not where to."""
        given = _number(told, "partition", self._partition)
        was_consumed = told.get("offset") is not None
        return self._partition if was_consumed and not self._keep_partitions else given


def inputs(form: Form, values: tuple[str, ...], path: str | None) -> Iterator[Input | None]:
    """Every record to send; None wherever the source has nothing to give for the moment."""
    number = 0
    for line in _lines(values, path):
        if line is None:
            yield None
            continue
        number += 1
        if record := form.read(line, number):
            yield record


def _lines(values: tuple[str, ...], path: str | None) -> Iterator[bytes | None]:
    if values:
        yield from map(_given, values)
    elif path:
        try:
            with open(path, "rb") as file:
                yield from lines_of(file)
        except OSError as error:
            raise Unusable(f"cannot read {path}: {error.strerror}") from None
    else:
        yield from lines_of(sys.stdin.buffer)


def lines_of(stream: BinaryIO) -> Iterator[bytes | None]:
    """Lines without their ends, as they come; None whenever the next one is not there yet."""
    try:
        source = stream.fileno()
    except OSError:
        yield from (line.rstrip(b"\r\n") for line in stream)  # memory, not a file
        return
    rest = b""
    while True:
        if not select.select([source], [], [], 0)[0]:
            yield None
        chunk = os.read(source, _CHUNK_BYTES)
        if not chunk:
            break
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.removesuffix(b"\r")
        if len(rest) > LINE_BYTES_MAX:
            raise Unusable(f"a line is longer than {LINE_BYTES_MAX} bytes")
    if rest:
        yield rest.removesuffix(b"\r")


def _given(argument: str) -> bytes:
    """The bytes that were typed, also where they are no text."""
    return argument.encode(errors="surrogateescape")


def _content(told: dict[str, Any], name: str) -> bytes | None:
    """A text as it is, anything else as JSON; `NAME_base64` is for bytes that are no text."""
    if (encoded := told.get(f"{name}_base64")) is not None:
        return msgspec.convert(encoded, bytes)
    content = told.get(name)
    if content is None:
        return None
    return content.encode() if isinstance(content, str) else msgspec.json.encode(content)


def _headers(told: Any) -> Headers:
    """An object, or a list of objects with key and value, for headers that come twice."""
    if told is None:
        return ()
    if isinstance(told, dict):
        return tuple((name.encode(), _content({"value": told[name]}, "value")) for name in told)
    if isinstance(told, list) and all(isinstance(each, dict) and "key" in each for each in told):
        return tuple((_content(each, "key") or b"", _content(each, "value")) for each in told)
    raise ValueError("headers must be an object, or a list of objects with key and value")


def _number(told: dict[str, Any], name: str, default: int | None) -> int | None:
    number = told.get(name)
    if number is None:
        return default
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ValueError(f"{name} must be a whole number, not {number!r}")
    if number > _NUMBER_MAX:
        raise ValueError(f"{name} must not be more than {_NUMBER_MAX}")
    return number
