"""Values in Avro, by the examples of its specification and by an encoder of the tests' own."""

from __future__ import annotations

import json
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spark.errors import OptionError
from penstock.spark.values.avro_schema import parsed
from penstock.spark.values.avro_values import AvroValues


def schema(**fields: Any) -> str:
    told = [{"name": name, "type": kind} for name, kind in fields.items()]
    return json.dumps({"type": "record", "name": "shop.Order", "fields": told})


def decode(
    text: str, *values: bytes | None, schema_id: int | None = None
) -> list[tuple[Any, str | None]]:
    found, errors = AvroValues(parsed(text), schema_id).decode(values)
    return list(zip(found.to_pylist(), errors, strict=True))


def one(text: str, value: bytes) -> Any:
    ((found, error),) = decode(text, value)
    assert error is None
    return found


def long(number: int) -> bytes:
    """Zigzag, seven bits a byte, the least first."""
    left, out = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def text_of(value: str) -> bytes:
    return long(len(value.encode())) + value.encode()


def test_examples_of_the_specification() -> None:
    assert one(schema(a="long", b="string"), bytes.fromhex("3606666f6f")) == {"a": 27, "b": "foo"}
    items = schema(a={"type": "array", "items": "long"})
    assert one(items, bytes.fromhex("04063600")) == {"a": [3, 27]}
    maybe = schema(a=["null", "string"])
    assert one(maybe, bytes.fromhex("00")) == {"a": None}
    assert one(maybe, bytes.fromhex("020261")) == {"a": "a"}


def test_all_kinds_become_columns() -> None:
    text = schema(
        flag="boolean",
        small="int",
        single="float",
        double="double",
        raw="bytes",
        four={"type": "fixed", "name": "Four", "size": 4},
        colour={"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]},
        again="Colour",
        counts={"type": "map", "values": "long"},
        day={"type": "int", "logicalType": "date"},
        millis={"type": "long", "logicalType": "timestamp-millis"},
        micros=[{"type": "long", "logicalType": "timestamp-micros"}, "null"],
        price={"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
        inner={"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "shop.Four"}]},
    )
    value = b"".join(
        [
            *(b"\1", long(-3), struct.pack("<f", 1.5), struct.pack("<d", 2.5)),
            *(long(2), b"\0\xff", b"four", long(1), long(0)),
            *(long(-1), long(2), text_of("k"), long(7), long(0)),
            *(long(20_000), long(1500), long(0), long(1_000_001)),
            *(long(2), (-1234).to_bytes(2, "big", signed=True), b"more"),
        ]
    )
    assert one(text, value) == {
        "flag": True,
        "small": -3,
        "single": 1.5,
        "double": 2.5,
        "raw": b"\0\xff",
        "four": b"four",
        "colour": "BLUE",
        "again": "RED",
        "counts": [("k", 7)],
        "day": date(2024, 10, 4),
        "millis": datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC),
        "micros": datetime(1970, 1, 1, 0, 0, 1, 1, UTC),
        "price": Decimal("-12.34"),
        "inner": {"x": b"more"},
    }


@pytest.mark.parametrize("number", [10**38 - 1, -(10**38) + 1, 10**28 + 1])
def test_no_digit_of_a_decimal_is_lost(number: int) -> None:
    text = schema(a={"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2})
    value = long(16) + number.to_bytes(16, "big", signed=True)
    assert one(text, value) == {"a": Decimal(f"{number}e-2")}


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.text()), max_size=20))
def test_what_was_encoded_is_there_again(rows: list[tuple[int, str]]) -> None:
    found = decode(schema(n="long", s="string"), *(long(n) + text_of(s) for n, s in rows))
    assert found == [({"n": n, "s": s}, None) for n, s in rows]


LIST = schema(a={"type": "array", "items": {"type": "array", "items": "int"}})


@pytest.mark.parametrize(
    ("text", "value", "cause"),
    [
        (schema(a="long"), b"", "ends too soon"),
        (schema(a="double"), b"1234567", "ends too soon"),
        (schema(a="string"), long(5) + b"four", "more bytes than there are"),
        (schema(a="string"), long(-5) + b"four", "more bytes than there are"),
        (schema(a="string"), long(1) + b"\xff", "utf-8"),
        (schema(a="long"), b"\xff" * 9 + b"\x7f", "more than 64 bits"),
        (schema(a="long"), b"\xff" * 20, "more than 64 bits"),
        (schema(a="int"), long(2**31), "more than 32 bits"),
        (schema(a="boolean"), b"\2", "neither true nor false"),
        (schema(a=["null", "int"]), long(2), "a branch"),
        (schema(a={"type": "enum", "name": "E", "symbols": ["A"]}), long(1), "a symbol"),
        (LIST, long(2**40), "more items than there are bytes"),
        (LIST, long(-(2**40)) + long(0) + b"\0" * 5, "more items than there are bytes"),
        (schema(a="long"), long(1) + b"more", "4 bytes follow it"),
    ],
)
def test_what_does_not_fit_harms_no_other(text: str, value: bytes, cause: str) -> None:
    found = decode(text, None, value, None)
    assert [row for row, _ in found] == [None] * 3
    assert found[0][1] is None
    assert cause in (found[1][1] or "")


def test_behind_a_schemas_id_only_values_of_that_one_are_read() -> None:
    text, value = schema(a="long"), long(27)
    assert decode(
        text,
        b"\0\0\0\0\7" + value,
        b"\0\0\0\0\x08" + value,
        b"\1\0\0\0\7" + value,
        value,
        schema_id=7,
    ) == [
        ({"a": 27}, None),
        (None, "it is of schema 8, and not of 7"),
        (None, "it does not begin with a schema's id"),
        (None, "it ends too soon"),
    ]


ITSELF = {"type": "record", "name": "R", "fields": [{"name": "r", "type": ["null", "R"]}]}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "cannot be read"),
        ('"string"', "the value is no record"),
        ('["null", {"type": "record", "name": "R", "fields": []}]', "has no fields"),
        (schema(a=["int", "string"]), "a column has one type, and may be null"),
        (schema(a="strin"), "there is no type strin"),
        (schema(a="long", A="long"), "two of one name"),
        (json.dumps(ITSELF), "lies in itself"),
        (schema(a={"type": "fixed", "name": "F"}), "needs a size"),
        (schema(a={"type": "bytes", "logicalType": "decimal", "precision": 39}), "38 digits"),
        (schema(a={"type": "enum", "name": "E", "symbols": 7}), "cannot be read"),
        (schema(a={}), "is no type"),
        (schema(a=None), "is no type"),
        ('{"type": "record", "name": "R", "fields": [7]}', "a list of fields with names"),
    ],
)
def test_a_schema_that_does_not_do_is_an_error_that_says_why(text: str, problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        parsed(text)


def test_a_name_is_looked_for_in_its_namespace_first() -> None:
    inner = {"type": "record", "name": "other.Four", "fields": [{"name": "y", "type": "long"}]}
    outer = schema(a={"type": "fixed", "name": "Four", "size": 4}, b=inner, c="Four")
    assert parsed(outer).arrow.field("c").type == pa.binary()
