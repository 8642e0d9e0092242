"""Rows that are known by some of their columns."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from penstock.spark.errors import SparkError
from penstock.spark.tables.keys import Keys


def table(*rows: tuple[str | None, float | None]) -> pa.Table:
    names, numbers = zip(*rows, strict=True)
    return pa.table({"name": pa.array(names, pa.string()), "number": pa.array(numbers, "float64")})


def test_a_row_has_a_key_if_all_of_its_columns_have() -> None:
    known = Keys(table(("a", 1), ("b", 2)), ["name", "number"])
    other = table(("a", 1), ("a", 2), ("b", 2), ("c", 1), ("c", 9))
    assert known.among(other).to_pylist() == [True, False, True, False, False]


def test_nothing_is_as_good_a_key_as_any() -> None:
    known = Keys(table((None, 1), ("b", None), ("c", math.nan)), ["name", "number"])
    other = table((None, 1), ("b", None), ("c", math.nan), (None, None), ("b", 1), ("c", None))
    assert known.among(other).to_pylist() == [True, True, True, False, False, False]


def test_rows_with_the_same_key_count_as_one() -> None:
    rows = table(("a", 1), ("a", 2), ("a", 1))
    assert Keys(rows, ["name"]).count == 1
    assert Keys(rows, ["name", "number"]).count == 2


def test_a_struct_is_known_by_its_fields() -> None:
    rows = pa.table({"window": [{"start": 1, "end": 2}, {"start": 2, "end": 3}]})
    known = Keys(rows.slice(0, 1), ["window"])
    assert known.among(rows).to_pylist() == [True, False]


def test_a_list_is_no_key() -> None:
    with pytest.raises(SparkError, match="cannot be known by tags"):
        Keys(pa.table({"tags": [["a"]]}), ["tags"])
