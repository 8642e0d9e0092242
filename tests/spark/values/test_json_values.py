"""Values in JSON: those that fit become columns, the others stay where they are, with a cause."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spark.values.ddl import parsed
from penstock.spark.values.json_values import ERROR_CHARS_MAX, JsonValues

SCHEMA = "id STRING NOT NULL, n INT, at TIMESTAMP, day DATE, tags ARRAY<STRING>, in STRUCT<x INT>"


def decode(*values: bytes | None, schema: str = SCHEMA) -> list[tuple[Any, str | None]]:
    found, errors = JsonValues(parsed(schema)).decode(values)
    found.validate(full=True)
    return list(zip(found.to_pylist(), errors, strict=True))


def test_what_fits_becomes_columns_and_other_fields_are_passed_over() -> None:
    value = {
        "id": "a",
        "n": 3,
        "at": "2026-07-01T12:00:00.5+02:00",
        "day": "2026-07-01",
        "tags": ["x", None],
        "in": {"x": 1, "y": 2},
        "other": [{}],
    }
    (found, error), (least, _) = decode(json.dumps(value, indent=1).encode(), b' {"id":""} ')
    assert error is None
    assert found["at"].isoformat() == "2026-07-01T10:00:00.500000+00:00"
    assert found["day"].isoformat() == "2026-07-01"
    assert (found["id"], found["n"], found["tags"]) == ("a", 3, ["x", None])
    assert found["in"] == {"x": 1}
    assert least == {"id": "", "n": None, "at": None, "day": None, "tags": None, "in": None}


def test_no_value_and_null_are_no_errors() -> None:
    assert decode(None, b"null") == [(None, None), (None, None)]
    assert decode() == []


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        (b"", "truncated"),
        (b"no json", "malformed"),
        (b'{"id":"a"}{"id":"b"}', "trailing characters"),
        (b'{"id":"a"', "truncated"),
        (b"}", "malformed"),
        (b"[1]", "it is no object"),
        (b"7", "it is no object"),
        (b"\xff\xfe", "malformed"),
        (b'{"id":"\xff"}', "invalid start byte"),
        (b'{"id":7}', "Expected `str | null`, got `int` - at `$.id`"),
        (b'{"id":"a","n":1.5}', "Expected `int | null`, got `float` - at `$.n`"),
        (b'{"id":"a","n":3000000000}', "couldn't parse:3000000000"),
        (b'{"id":"a","at":"soon"}', "couldn't parse:soon"),
        (b'{"id":"a","day":"soon"}', "soon"),
        (b'{"id":"a","id":"b"}', "specified twice"),
        (b'{"n":1}', "id is missing"),
        (b'{"id":null}', "id is missing"),
        (b'{"id":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "too deep"),
    ],
)
def test_what_does_not_fit_harms_no_other(value: bytes, cause: str) -> None:
    good = [b'{"id":"%d","n":%d}' % (number, number) for number in range(9)]
    found = decode(*good[:4], value, *good[4:])
    assert [row["n"] for row, _ in found if row] == [*range(9)]
    row, error = found[4]
    assert row is None
    assert error is not None
    assert cause in error
    assert len(error) <= ERROR_CHARS_MAX
    assert decode(value) == [(None, error)]


class Counting(JsonValues):
    """How many values were read, and read again."""

    read = 0

    def _parsed(self, texts: Sequence[bytes]) -> pa.Array:
        self.read += len(texts)
        return super()._parsed(texts)


@pytest.mark.parametrize("every", [1, 2, 3, 50, 400])
def test_however_many_do_not_fit_none_is_read_again_more_than_a_few_times(every: int) -> None:
    good, bad = b'{"id":"a","n":1}', b'{"id":"a","at":"soon"}'
    values = [good if number % every else bad for number in range(400)]
    counting = Counting(parsed(SCHEMA))
    _, errors = counting.decode(values)
    assert [error is None for error in errors] == [value is good for value in values]
    assert counting.read < 10 * len(values)


POISON = st.sampled_from(
    [b"{", b"}", b'{"id":1}', b'{"id":"a"}{"id":"b"}', b"\n", b'{"id":"x","n":"y"}']
)


@given(st.lists(st.one_of(st.none(), st.integers(0, 99), POISON), max_size=40))
def test_each_row_has_its_own_value_whatever_lies_between(rows: list[int | bytes | None]) -> None:
    values = [b'{"id":"a","n":%d}' % each if isinstance(each, int) else each for each in rows]
    found = decode(*values, schema="id STRING, n INT")
    for given_row, (row, error) in zip(rows, found, strict=True):
        assert (row or {}).get("n") == (given_row if isinstance(given_row, int) else None)
        assert (error is not None) == isinstance(given_row, bytes)


ALL = "s STRING, b BOOLEAN, n BIGINT, f DOUBLE, d DECIMAL(5, 2), t TIMESTAMP, a ARRAY<INT>"
PIECES = [
    *("null", "true", "0", "-0", "1.0", "1.5", "1e2", "1E400", "9223372036854775808"),
    *('"x"', '"\\ud800"', '"\\ud83d\\ude00"', '"\\u0000"', '"1.5"', '"1"', '"NaN"', '""'),
    *('"2026-07-01"', '"2026-07-01 12:00:00"', '"2026-07-01T12:00:00Z"'),
    *("[]", "[1,null]", "[1.0]", '["1"]', "{}", '{"s":1}'),
]


@pytest.mark.parametrize("name", "sbnfdta")
def test_what_is_made_of_a_value_does_not_depend_on_the_company_that_it_is_in(name: str) -> None:
    for piece in PIECES:
        value = f'{{"{name}":{piece},"z":{piece}}}'.encode()
        (alone,) = decode(value, schema=ALL)
        among, _ = decode(value, b'{"a":[1],"n":"poison"}', schema=ALL)
        assert among[0] == alone[0]
        assert (among[1] is None) == (alone[1] is None)


IN_ALL = "a DECIMAL(10, 2), in STRUCT<b ARRAY<DECIMAL(38, 0)>>, x DOUBLE"


@pytest.mark.parametrize("number", [b"1e-77", b"1e-99999999", b'"1e-99999999"', b"0.%037d1e-9" % 0])
@pytest.mark.parametrize("around", [b'{"a": %s}', b'{"in": {"b": [1, %s]}}'])
def test_decimals_with_more_digits_than_arrow_can_count_are_never_given_to_it(
    number: bytes, around: bytes
) -> None:
    (before, _), (found, error), (after, _) = decode(
        b'{"a": 1e-2}', around % number, b'{"x": 1e-77}', schema=IN_ALL
    )
    assert found is None
    assert error == "a number has too many digits behind the point"
    assert (before["a"], after["x"]) == (Decimal("0.01"), 1e-77)
