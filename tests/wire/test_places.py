"""Places of records, in both forms of the code: what lies there is what the plain walk gives."""

from __future__ import annotations

import importlib.util
import struct
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import Malformed
from penstock.wire import places, records


class Form(NamedTuple):
    records: Any
    places: Any


def source(installed: ModuleType) -> ModuleType:
    name = installed.__name__
    path = Path(str(installed.__file__)).parent / f"{name.rpartition('.')[2]}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_as_source", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def pure() -> Form:
    """Neither half of it is compiled."""
    walker = source(records)
    with patch.dict(sys.modules, {records.__name__: walker}):
        return Form(walker, source(places))


@pytest.fixture(scope="module", params=["compiled", "pure"])
def form(request: pytest.FixtureRequest) -> Form:
    if request.param == "pure":
        assert not pure().places.COMPILED
        assert pure().places.Cursor is pure().records.Cursor
        return pure()
    if not places.COMPILED:
        pytest.skip("places.py was not compiled here: no C compiler, or PENSTOCK_PURE=1")
    assert places.add_places.__class__.__name__ == "builtin_function_or_method"
    return Form(records, places)


LAST = 2**63 - 1
payloads = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.binary(max_size=10), payloads), max_size=3).map(tuple)
moments = st.integers(-(2**61) + 1, 2**61 - 1) | st.integers(-3, 300)
described = st.lists(st.tuples(moments, payloads, payloads, headers), max_size=20)
gaps = st.lists(st.sampled_from([1, 1, 1, 2, 3000]), min_size=20, max_size=20)


def made(form: Form, fields: list[Any], steps: list[int]) -> list[Any]:
    found, offset = [], 0
    for (timestamp, key, value, tags), step in zip(fields, steps, strict=False):
        found.append(form.records.Record(offset, timestamp, key, value, tags))
        offset += step
    return found


def spread(runs: Any, count: int) -> list[int]:
    """A number for each row."""
    ends = [*runs.starts[1:], count] if runs.starts else []
    pairs = zip(runs.starts, ends, runs.numbers, strict=True)
    return [number for start, end, number in pairs for _ in range(start, end)]


def taken(data: bytes, bounds: list[int], nulls: list[int]) -> list[bytes | None]:
    """What lies there, by the two halves of each number as they are in memory."""
    halves = (struct.unpack("=ii", struct.pack("=q", each)) for each in bounds)
    return [None if row in nulls else data[at:end] for row, (at, end) in enumerate(halves)]


@settings(deadline=None, max_examples=150)
@given(
    described, gaps, st.integers(0, 3000), st.integers(0, 30_000), st.binary(max_size=9), st.data()
)
def test_what_lies_at_the_places_are_the_records_between_two_offsets(
    form: Form,
    fields: list[Any],
    steps: list[int],
    first: int,
    end: int,
    around: bytes,
    drawn: st.DataObject,
) -> None:
    before = made(form, fields, steps)
    section = form.records.encode(before, 0, 0)
    data = around + section + around
    with_headers = drawn.draw(st.booleans())
    found = form.places.Places(end, with_headers)
    for shift in (0, len(data)):
        cursor = form.records.Cursor(data, len(before), len(around), len(around) + len(section))
        form.places.add_places(found, cursor, shift, first, 0, 0, False)
    wanted = [each for each in before if first <= each.offset < end] * 2
    assert found.count == len(wanted)
    ahead = spread(found.offsets_ahead, found.count)
    assert [row + each for row, each in enumerate(ahead)] == [each.offset for each in wanted]
    most = form.places.TIME_MS_MAX
    times = [1000 * max(-most, min(most, each.timestamp)) for each in wanted]
    assert spread(found.times_us, found.count) == times
    keys = taken(data * 2, found.keys, found.rows_of_null_keys)
    assert keys == [each.key for each in wanted]
    values = taken(data * 2, found.values, found.rows_of_null_values)
    assert values == [each.value for each in wanted]
    assert found.headers == ([each.headers for each in wanted] if with_headers else [])
    assert found.size_bytes <= 2 * len(section)


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=60), st.integers(0, 5), st.integers(0, 8), st.integers(0, 8))
def test_both_forms_judge_any_bytes_alike(
    data: bytes, count: int, before: int, behind: int
) -> None:
    def verdict(form: Form) -> object:
        found = form.places.Places(LAST, True)
        try:
            cursor = form.records.Cursor(data, count, before, max(before, len(data) - behind))
            form.places.add_places(found, cursor, 0, 0, 0, 0, False)
        except Malformed as error:
            return str(error)
        numbers = (found.keys, found.values, found.rows_of_null_keys, found.rows_of_null_values)
        return numbers, found.headers, found.offsets_ahead.numbers, found.times_us.numbers

    assert verdict(Form(records, places)) == verdict(pure())


def test_what_goes_on_evenly_is_noted_once(form: Form) -> None:
    same = [form.records.Record(each, 7, None, b"v") for each in range(100)]
    found = form.places.Places(LAST, False)
    cursor = form.records.Cursor(form.records.encode(same, 0, 7), 100)
    form.places.add_places(found, cursor, 0, 0, 500, 7, False)
    assert (found.offsets_ahead.starts, found.offsets_ahead.numbers) == ([0], [500])
    assert (found.times_us.starts, found.times_us.numbers) == ([0], [7000])


def test_a_time_that_counts_for_all_is_theirs(form: Form) -> None:
    several = [form.records.Record(each, each * 9, b"k", b"v") for each in range(5)]
    found = form.places.Places(LAST, False)
    cursor = form.records.Cursor(form.records.encode(several, 0, 0), 5)
    form.places.add_places(found, cursor, 0, 0, 0, 123, True)
    assert spread(found.times_us, 5) == [123_000] * 5


@pytest.mark.parametrize("base", [LAST, -(2**63), 2**62, 0, -1])
@pytest.mark.parametrize("delta", [2**62 - 1, 1 - 2**62, 0])
def test_times_however_far_away_end_where_microseconds_do(
    form: Form, base: int, delta: int
) -> None:
    found = form.places.Places(LAST, False)
    data = form.records.encode([form.records.Record(0, delta, None, None)], 0, 0)
    form.places.add_places(found, form.records.Cursor(data, 1), 0, 0, 0, base, False)
    most = form.places.TIME_MS_MAX
    assert found.times_us.numbers == [1000 * max(-most, min(most, base + delta))]


def test_a_record_that_reaches_into_what_follows_is_malformed(form: Form) -> None:
    one = form.records.encode([form.records.Record(0, 0, b"k", b"value")], 0, 0)
    found = form.places.Places(LAST, False)
    cursor = form.records.Cursor(one + one, 1, 0, len(one) - 1)
    with pytest.raises(Malformed, match="said"):
        form.places.add_places(found, cursor, 0, 0, 0, 0, False)


def test_offsets_and_places_that_are_too_large_are_malformed(form: Form) -> None:
    data = form.records.encode([form.records.Record(0, 0, b"k", b"v")], 0, 0)
    for shift, base in ((0, LAST), (2**31 - len(data), 0), (-1, 0)):
        found = form.places.Places(LAST, False)
        cursor = form.records.Cursor(data, 1)
        with pytest.raises(Malformed):
            form.places.add_places(found, cursor, shift, 0, base, 0, False)
