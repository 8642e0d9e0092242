"""Columns as Iceberg wants them: each is known by a number, in the table as in its files.

Nothing of pyiceberg is needed here, so tasks write files without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pyarrow as pa

_NUMBER = b"PARQUET:field_id"


def numbered(columns: pa.Schema) -> pa.Schema:
    """As pyiceberg numbers those of a new table."""
    numbers = count(1)
    return pa.schema(_fields(list(columns), numbers))


def number_of(columns: pa.Schema, name: str) -> int:
    return int(columns.field(name).metadata[_NUMBER])


def _fields(fields: list[pa.Field], numbers: Iterator[int]) -> list[pa.Field]:
    """All of a level, then what lies in each."""
    own = [next(numbers) for _ in fields]
    return [
        _with_number(each.with_type(_kind(each.type, numbers)), number)
        for each, number in zip(fields, own, strict=True)
    ]


def _with_number(field: pa.Field, number: int) -> pa.Field:
    return field.with_metadata({_NUMBER: str(number)})


def _kind(kind: pa.DataType, numbers: Iterator[int]) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct(_fields(list(kind), numbers))
    if pa.types.is_list(kind):
        (element,) = _fields([kind.value_field.with_name("element")], numbers)
        return pa.list_(element)
    if pa.types.is_map(kind):
        return pa.map_(*_fields([kind.key_field, kind.item_field], numbers))
    if pa.types.is_int8(kind) or pa.types.is_int16(kind):
        return pa.int32()  # Iceberg has none that are smaller
    return kind
