"""The schema of a table's values: given in words or as a file, and kept as text."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from penstock.spark.errors import OptionError
from penstock.spark.source.columns import ARROW_WITH_HEADERS
from penstock.spark.values.schema import ValueSchema, columns_of, given_schema

AVRO = '{"type": "record", "name": "R",\n "fields": [{"name": "a", "type": "long"}]}'


def test_columns_come_behind_those_of_every_table() -> None:
    columns = columns_of(given_schema("id STRING NOT NULL"))
    assert columns.names == [*ARROW_WITH_HEADERS.names, "value_decoded", "value_error"]
    assert columns.field("value_decoded").type == pa.struct([("id", pa.string())])
    assert columns_of(None) == ARROW_WITH_HEADERS


def test_layout_makes_no_other_schema(tmp_path: Path) -> None:
    assert given_schema("id  STRING,\n n INT") == given_schema("id STRING, n INT")
    path = tmp_path / "r.avsc"
    path.write_text(AVRO)
    before = given_schema(str(path), 7)
    path.write_text(AVRO.replace("\n", ""))
    assert given_schema(str(path), 7) == before == ValueSchema.from_text(before.to_text())
    assert given_schema(str(path)) != before


def test_a_schema_that_cannot_be_had_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bad.avsc").write_text("[" * 100_000)
    for given, problem in {
        "id NOTHING": "there is no type NOTHING",
        str(tmp_path / "none.avsc"): "cannot be read",
        str(tmp_path / "bad.avsc"): "cannot be read",
        "a INT, " * 200_000 + "b INT": "more than",
    }.items():
        with pytest.raises(OptionError, match=problem):
            given_schema(given)
    with pytest.raises(OptionError, match=r"ends with \.avsc"):
        given_schema("id STRING", 7)
