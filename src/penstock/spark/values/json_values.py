"""JSON into columns: a batch at a time by Arrow, and what fails of it bit by bit.

Arrow reads a text of many documents, and stops at the first that does not fit. So each value is
looked at first, to be one document and no more. Where Arrow stops, all are looked at more closely,
which takes as long as to read them. Where it stops again, those before are read, and then the one
that it stopped at, alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypedDict

import msgspec
import pyarrow as pa
from pyarrow import json as arrow_json

from penstock.spark.values.tiny_decimals import TinyDecimals, has_decimals

ERROR_CHARS_MAX = 200

_ROW = re.compile(r" in row (\d+)$")
_NOISE = re.compile(r"^JSON parse error: | in row \d+$")
_look_through = msgspec.json.Decoder(msgspec.Raw)

Decoded = tuple[pa.Array, list[str | None]]
"""A struct for each value, null where there is none; and why."""


class JsonValues:
    def __init__(self, fields: Sequence[pa.Field]) -> None:
        self._fields = fields
        self._type = pa.struct([each.with_nullable(True) for each in fields])
        self._needed = [each.name for each in fields if not each.nullable]
        read = pa.schema([(each.name, _as_read(each.type)) for each in fields])
        self._shape = msgspec.json.Decoder(_shape(self._type))
        self._tiny = TinyDecimals(self._type, _shape) if has_decimals(self._type) else None
        self._how = arrow_json.ParseOptions(
            explicit_schema=read, unexpected_field_behavior="ignore"
        )

    def decode(self, values: Sequence[bytes | None]) -> Decoded:
        rows = _Rows(len(values))
        waiting: list[int] = []
        for row, value in enumerate(values):
            if value is not None and value != b"null":
                rows.errors[row] = _problem(value, _look_through) or self._too_small(value)
                if rows.errors[row] is None:
                    waiting.append(row)
        try:
            rows.add(self._parsed([values[row] or b"" for row in waiting]), waiting, self._needed)
        except (pa.ArrowInvalid, UnicodeDecodeError):
            for row in waiting:
                rows.errors[row] = _problem(values[row] or b"", self._shape)
            self._decode(values, [row for row in waiting if rows.errors[row] is None], rows)
        found = pa.concat_arrays([pa.array([], self._type), *rows.parts])
        return found.take(pa.array(rows.places, pa.int64())), rows.errors

    def _too_small(self, value: bytes) -> str | None:
        try:
            is_so = self._tiny is not None and self._tiny.among(value)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return shortened(str(error))
        return "a number has too many digits behind the point" if is_so else None

    def _decode(self, values: Sequence[bytes | None], waiting: list[int], rows: _Rows) -> None:
        """As many at once as have done well before, since whatever fails is read again."""
        first, count = 0, len(waiting)
        usual = count
        while first < len(waiting):
            share = waiting[first : first + count]
            try:
                part = self._parsed([values[row] or b"" for row in share])
            except (pa.ArrowInvalid, UnicodeDecodeError) as error:
                if len(share) > 1:
                    count = _stopped_at(str(error), len(share))
                    continue
                rows.errors[share[0]] = shortened(_NOISE.sub("", str(error)))
                count = usual = max(1, usual // 2)
            else:
                rows.add(part, share, self._needed)
                count = usual = 2 * len(share)
            first += len(share)

    def _parsed(self, texts: Sequence[bytes]) -> pa.Array:
        if not texts:
            return pa.array([], self._type)
        text = b"\n".join(texts)
        whole = arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1)
        found = arrow_json.read_json(pa.BufferReader(text), whole, self._how)
        if found.num_rows != len(texts):
            raise pa.ArrowInvalid("it is not one object")
        found.validate(full=True)
        columns = [found.column(each.name).combine_chunks() for each in self._fields]
        made = [column.cast(each.type) for column, each in zip(columns, self._fields, strict=True)]
        return pa.StructArray.from_arrays(made, fields=list(self._type))


class _Rows:
    """What came of each value."""

    def __init__(self, count: int) -> None:
        self.parts: list[pa.Array] = []
        self.places: list[int | None] = [None] * count
        """In all parts together."""
        self.errors: list[str | None] = [None] * count
        self._placed = 0

    def add(self, part: pa.Array, rows: Sequence[int], needed: Sequence[str]) -> None:
        """What lacks a field that it must have is no value."""
        for number, row in enumerate(rows, self._placed):
            self.places[row] = number
        for name in needed:
            column = part.field(name)
            for number in range(len(rows)) if column.null_count else ():
                if not column[number].is_valid:
                    self.places[rows[number]] = None
                    self.errors[rows[number]] = f"{name} is missing"
        self.parts.append(part)
        self._placed += len(part)


def _problem(value: bytes, looks: msgspec.json.Decoder[Any]) -> str | None:
    """Why it is not one object in JSON, if so, or not of its shape."""
    try:
        looks.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return shortened(str(error))
    except RecursionError:
        return "it is too deep"
    if value[:1] != b"{" and value.lstrip()[:1] != b"{":
        return "it is no object"
    return None


def _stopped_at(error: str, count: int) -> int:
    """How many to read in its place: those before the row that Arrow names, or half of them."""
    found = _ROW.search(error)
    return min(max(1, int(found[1])), count - 1) if found else count // 2


def _shape(kind: pa.DataType, decimal: Any = str | int | float) -> Any:
    """No narrower than what Arrow takes for it: what it does not take is seldom of this shape."""
    if pa.types.is_struct(kind):
        fields = {each.name: _shape(each.type, decimal) for each in kind}
        return TypedDict("Fields", fields, total=False) | None  # type: ignore[operator]
    if pa.types.is_list(kind):
        return list[_shape(kind.value_type, decimal)] | None  # type: ignore[misc]
    if pa.types.is_decimal(kind):
        return decimal | None
    if pa.types.is_boolean(kind):
        return bool | None
    if pa.types.is_integer(kind):
        return int | None
    return float | None if pa.types.is_floating(kind) else str | None


def _as_read(kind: pa.DataType) -> pa.DataType:
    """Arrow takes numbers for dates, where JSON has texts."""
    if pa.types.is_date32(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_as_read(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(each.name, _as_read(each.type)) for each in kind])
    return kind


def shortened(text: str) -> str:
    return text.encode(errors="replace").decode()[:ERROR_CHARS_MAX]
