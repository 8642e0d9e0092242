"""Rows in Arrow, as records."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from penstock.spark.errors import SparkError
from penstock.spark.sink.columns import Row, rows_of

HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])


def batch(**columns: pa.Array) -> pa.RecordBatch:
    return pa.record_batch(list(columns.values()), names=list(columns))


def rows(to: str | None = "t", **columns: pa.Array) -> list[Row]:
    return list(rows_of(batch(**columns), to))


def test_a_value_is_all_that_is_needed() -> None:
    assert rows(value=pa.array(["ä", None])) == [
        Row("t", "ä".encode(), None, (), None, None),
        Row("t", None, None, (), None, None),
    ]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_text_and_bytes_are_the_same(kind: Any) -> None:
    (row,) = rows(value=pa.array(["v"]).cast(kind), key=pa.array(["k"]).cast(kind))
    assert (row.value, row.key) == (b"v", b"k")


def test_every_column_has_its_place() -> None:
    told = rows(
        None,
        value=pa.array([b"v"]),
        topic=pa.array(["orders"]),
        partition=pa.array([3], pa.int32()),
        timestamp=pa.array([1_234_567], pa.timestamp("us", tz="UTC")),
        headers=pa.array([[{"key": "a", "value": b"1"}, {"key": "b", "value": None}]]).cast(
            pa.list_(HEADER)
        ),
        offset=pa.array([17]),
    )
    assert told == [Row("orders", b"v", None, ((b"a", b"1"), (b"b", None)), 3, 1234)]


def test_the_option_goes_before_the_column() -> None:
    (row,) = rows("t", value=pa.array([b"v"]), topic=pa.array(["other"]))
    assert row.topic == "t"


def test_a_row_without_a_topic_is_an_error() -> None:
    with pytest.raises(SparkError, match="column topic is null"):
        rows(None, value=pa.array([b"v"]), topic=pa.array([None], pa.string()))


def test_a_header_without_a_key_is_an_error() -> None:
    headers = pa.array([[{"key": None, "value": b"1"}]], pa.list_(HEADER))
    with pytest.raises(SparkError, match="header without a key"):
        rows(value=pa.array([b"v"]), headers=headers)
