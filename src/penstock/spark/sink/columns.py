"""Rows as records: the columns of Spark's Kafka sink, and `timestamp` besides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.types import StructType

from penstock.spark.errors import OptionError, SparkError
from penstock.wire.records import Headers

_BYTES = ("string", "binary")
TYPES = {
    "value": _BYTES,
    "key": _BYTES,
    "topic": ("string",),
    "partition": ("int",),
    "timestamp": ("timestamp",),
    "headers": ("array<struct<key:string,value:binary>>",),
}
"""What is taken of a row, as Spark writes types. Other columns are passed over, as there."""


class Row(NamedTuple):
    topic: str
    value: bytes | None
    key: bytes | None
    headers: Headers
    partition: int | None
    timestamp_ms: int | None


def check_columns(schema: StructType, topic: str | None) -> None:
    """Before anything is written."""
    found = {field.name: field.dataType.simpleString() for field in schema}
    if "value" not in found:
        raise OptionError(
            f"column value is missing: there are {', '.join(found) or 'none'}. What is written is "
            "a record's value, of type string or binary"
        )
    if "topic" not in found and topic is None:
        raise OptionError("where to? Give the option topic, or a column topic")
    for name, allowed in TYPES.items():
        if name in found and found[name] not in allowed:
            raise OptionError(
                f"column {name} has type {found[name]}: it has to be {' or '.join(allowed)}"
            )


def rows_of(batch: pa.RecordBatch, topic: str | None) -> Iterator[Row]:
    """`topic` goes before the column."""
    topics = [topic] * batch.num_rows if topic is not None else _column(batch, "topic")
    columns = zip(
        topics,
        _bytes(batch, "value"),
        _bytes(batch, "key"),
        map(_headers, _column(batch, "headers")),
        _column(batch, "partition"),
        _milliseconds(batch),
        strict=True,
    )
    for row in map(Row._make, columns):
        if row.topic is None:
            raise SparkError("column topic is null in a row: say where it goes, or leave it out")
        yield row


def _column(batch: pa.RecordBatch, name: str) -> list[Any]:
    index = batch.schema.get_field_index(name)
    return batch.column(index).to_pylist() if index >= 0 else [None] * batch.num_rows


def _bytes(batch: pa.RecordBatch, name: str) -> list[bytes | None]:
    index = batch.schema.get_field_index(name)
    if index < 0:
        return [None] * batch.num_rows
    found: list[bytes | None] = batch.column(index).cast(pa.large_binary()).to_pylist()
    return found


def _milliseconds(batch: pa.RecordBatch) -> list[int | None]:
    index = batch.schema.get_field_index("timestamp")
    if index < 0:
        return [None] * batch.num_rows
    column = batch.column(index)
    whole = column.cast(pa.timestamp("ms", tz=column.type.tz), safe=False)
    found: list[int | None] = whole.cast(pa.int64()).to_pylist()
    return found


def _headers(told: list[dict[str, Any] | None] | None) -> Headers:
    if not told:
        return ()
    if any(each is None or each["key"] is None for each in told):
        raise SparkError("column headers has a header without a key in a row: give each one")
    return tuple((each["key"].encode(), each["value"]) for each in told if each is not None)
