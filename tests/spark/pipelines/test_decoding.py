"""Values of every kind, as columns or as dead letters."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.spark.pipelines.declaration import Source
from penstock.spark.pipelines.decoding import dead_letters, decoded
from penstock.spark.source.columns import SPARK_WITH_HEADERS

SCHEMA = "a decimal(10,2), b struct<c: array<decimal(38,10)>>, id string, x double"


def rows_of(spark: SparkSession, values: list[bytes]) -> DataFrame:
    rows = [(None, each, "t", 0, number, None, 0, None) for number, each in enumerate(values)]
    return spark.createDataFrame(rows, SPARK_WITH_HEADERS)


def split(
    spark: SparkSession, values: list[bytes], schema: str, **source: Any
) -> tuple[dict[int, Any], list[int]]:
    """The field `a` of what can be decoded, and the dead letters; both by their place."""
    rows, read = rows_of(spark, values), Source(topic="t", schema=schema, **source)
    parsed = StructType.fromDDL(schema)
    assert isinstance(parsed, StructType)
    good = {row["offset"]: row["a"] for row in decoded(rows, read, parsed).collect()}
    told = dead_letters(rows, read, parsed).collect()
    at = "__dlq.errors.offset"
    places = [int(h["value"]) for row in told for h in row["headers"] if h["key"] == at]
    return good, sorted(places)


def test_numbers_too_far_away_for_a_decimal_are_dead_letters_at_once(spark: SparkSession) -> None:
    """Spark would write out all of their digits."""
    good = [
        b'{"a": 1.5}',
        b'{"a": 12345678.25, "id": "3e123456", "x": 1e-300}',
        b'{"a": 0.0, "id": "1.5e+123456"}',
        b'{"id": "3e123456", "b": {"c": [null, 1.0000000001]}}',
    ]
    far = [
        b'{"a": 1e99999999}',
        b'{"a": 1e-99999}',
        b'{"a": "1e99999999"}',
        b'{"a" : "-1e-99999" }',
        b'{"b": {"c": [1, 12.5E-99999999]}}',
        b'{"b": {"c": ["1", "1E-99999999"]}}',
        b'{"\\u0061":\n "1e-99999"}',
        b"{'a': '1.5e+099999999'}",
        b'{"a": "1e99999999"',
        b'{"a": 1e99999999 ',
    ]
    found, letters = split(spark, [*good, *far], SCHEMA, format="json")
    assert found == {0: Decimal("1.50"), 1: Decimal("12345678.25"), 2: Decimal(0), 3: None}
    assert letters == list(range(len(good), len(good) + len(far)))


@pytest.mark.parametrize(
    "more", [{"format": "csv"}, {"format": "pattern", "pattern": "^([^,]*),(.*)$"}]
)
def test_that_is_so_for_text_of_other_kinds(spark: SparkSession, more: dict[str, str]) -> None:
    values = [b"1.5,3e123456", b"1e-99999,x", b"1e99999999,x", b"-1E-99999999,x"]
    found, letters = split(spark, values, "a decimal(10,2), id string", **more)
    assert (found, letters) == ({0: Decimal("1.50")}, [1, 2, 3])
