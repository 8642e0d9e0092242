"""Schemas in Spark's words."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.spark.errors import OptionError
from penstock.spark.values.ddl import parsed


def test_fields_have_the_types_that_spark_gives_them() -> None:
    text = """id STRING NOT NULL, n int, `a b` bigint, price decimal(10,2), whole DECIMAL,
        at timestamp, day: date, ok boolean, tags array<string>,
        who struct<name: string, born: struct<year smallint>>"""
    inner = pa.struct([("year", pa.int16())])
    assert parsed(text) == [
        pa.field("id", pa.string(), nullable=False),
        pa.field("n", pa.int32()),
        pa.field("a b", pa.int64()),
        pa.field("price", pa.decimal128(10, 2)),
        pa.field("whole", pa.decimal128(10, 0)),
        pa.field("at", pa.timestamp("us", tz="UTC")),
        pa.field("day", pa.date32()),
        pa.field("ok", pa.bool_()),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("who", pa.struct([("name", pa.string()), ("born", inner)])),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "a name is needed, and there is 'the end'"),
        ("id", "a name is needed"),
        ("id STRINGG", "there is no type STRINGG: known are BOOLEAN"),
        ("id MAP<STRING, INT>", "there is no type MAP"),
        ("id STRING,", "a name is needed"),
        ("id STRING; n INT", "'; n INT' is no name and no type"),
        ("id STRING n INT", "'n' is more than a schema"),
        ("id STRING, ID INT", "two fields id"),
        ("id STRING NOT", "NOT is followed by NULL"),
        ("a STRUCT<b INT NOT NULL>", "only a field of the value itself"),
        ("a ARRAY<INT", "'>' is needed, and there is 'the end'"),
        ("a DECIMAL(39, 2)", "has 1 to 38 digits"),
        ("a DECIMAL(2, 3)", "has 1 to 38 digits"),
        ("a " + "ARRAY<" * 51 + "INT" + ">" * 51, "more than 50 deep"),
    ],
)
def test_what_is_no_schema_is_an_error_that_says_where(text: str, problem: str) -> None:
    with pytest.raises(OptionError) as error:
        parsed(text)
    assert problem in str(error.value)
