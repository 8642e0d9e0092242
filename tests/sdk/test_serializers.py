"""Values as bytes and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.sdk import Float64, Int64, Json, raw, text


@dataclass
class Order:
    item: str
    count: int


@given(st.text().filter(lambda each: each.isprintable()))
def test_text_comes_back(value: str) -> None:
    assert text.deserialize(text.serialize(value)) == value


@given(st.binary())
def test_bytes_stay_as_they_are(value: bytes) -> None:
    assert raw.deserialize(raw.serialize(value)) == value


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_whole_numbers_come_back(value: int) -> None:
    assert Int64().deserialize(Int64().serialize(value)) == value


@given(st.floats(allow_nan=False))
def test_numbers_come_back(value: float) -> None:
    assert Float64().deserialize(Float64().serialize(value)) == value


def test_numbers_are_written_as_in_java() -> None:
    assert Int64().serialize(258).hex() == "0000000000000102"
    assert Float64().serialize(1.5).hex() == "3ff8000000000000"


def test_json_is_read_as_the_type_that_was_asked_for() -> None:
    form: Json[Order] = Json(Order)
    assert form.deserialize(form.serialize(Order("book", 2))) == Order("book", 2)
    assert Json().deserialize(b'{"a": [1]}') == {"a": [1]}


def test_a_number_as_text_is_its_digits() -> None:
    assert text.serialize(42) == b"42"


@pytest.mark.parametrize(
    ("form", "value"),
    [(text, 1.5), (text, True), (raw, "text"), (raw, 5), (Int64(), "1"), (Int64(), 1 << 63)],
)
def test_what_does_not_fit_is_refused(form: Any, value: Any) -> None:
    with pytest.raises(Exception, match=r".+"):
        form.serialize(value)


def test_json_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="count"):
        Json(Order).deserialize(b'{"item": "book", "count": "two"}')
