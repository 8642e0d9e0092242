"""Records chosen by their headers, in both forms of the code: compiled, and as it is written."""

from __future__ import annotations

import importlib.util
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
from penstock.wire import choosing, records


class Form(NamedTuple):
    records: Any
    choosing: Any


COMPILED = Form(records, choosing)


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
        return Form(walker, source(choosing))


@pytest.fixture(scope="module", params=["compiled", "pure"])
def form(request: pytest.FixtureRequest) -> Form:
    if request.param == "pure":
        assert not pure().choosing.COMPILED
        assert pure().choosing.Cursor is pure().records.Cursor
        return pure()
    if not choosing.COMPILED:
        pytest.skip("choosing.py was not compiled here: no C compiler, or PENSTOCK_PURE=1")
    assert choosing.value_of.__class__.__name__ == "builtin_function_or_method"
    return COMPILED


NAMES = (b"region", b"tier", b"", b"regiom", b"g", b"\xff")
tags = st.none() | st.sampled_from([b"", b"eu", b"us", b"gold"])
headers = st.lists(st.tuples(st.sampled_from([*NAMES, b"x"]), tags), max_size=5).map(tuple)
payloads = st.none() | st.binary(max_size=5)
fields = st.lists(
    st.tuples(st.integers(-100, 100), st.none() | st.sampled_from([b"a", b"b"]), payloads, headers),
    max_size=30,
)
asked_names = st.lists(st.sampled_from(NAMES), unique=True, max_size=6).map(tuple)


def made(form: Form, described: list[Any]) -> tuple[list[Any], bytes]:
    found = [
        form.records.Record(offset, *each)
        for offset, each in zip(range(0, 3000, 3), described, strict=False)
    ]
    return found, form.records.encode(found, 0, 0)


def last_of(record: Any, name: bytes) -> bytes | None:
    found = [value for each, value in record.headers if each == name]
    return found[-1] if found else None


def values_in(record: Any, names: tuple[bytes, ...]) -> tuple[bytes | None, ...]:
    return tuple(last_of(record, name) for name in names)


def by_headers(_: bytes | None, __: int, values: tuple[bytes | None, ...]) -> bool:
    return sum(len(value or b"xyz") for value in values) % 3 == 2


def by_all(key: bytes | None, timestamp: int, values: tuple[bytes | None, ...]) -> bool:
    """What has `eu` in it is in, what has a null is out, the rest goes by key and time."""
    settled = settles(values)
    return key == b"a" and timestamp > 7 if settled is None else settled


def settles(values: tuple[bytes | None, ...]) -> bool | None:
    if b"eu" in values:
        return True
    return False if None in values else None


def gone_through(walk: Any, most: int) -> int:
    """In how many calls."""
    calls = 1
    while not walk.go_on(most):
        calls += 1
    return calls


@settings(deadline=None, max_examples=150)
@given(fields, asked_names, st.booleans(), st.integers(1, 12), st.integers(-50, 50))
def test_what_is_chosen_are_the_bytes_of_the_records_that_are_asked_for(
    form: Form, described: list[Any], names: tuple[bytes, ...], deep: bool, most: int, base: int
) -> None:
    before, data = made(form, described)
    judge, settle = (by_all, settles) if deep else (by_headers, None)
    verdicts: dict[object, int] = {}
    for _ in range(2):  # the second time with what is known from the first
        question = form.choosing.Question(form.choosing.Names(names), deep, judge, settle, verdicts)
        choice = form.choosing.Choice(form.records.Cursor(data, len(before)), question, base)
        assert gone_through(choice, most) == len(before) // most + 1
        expected = [
            each
            for each in before
            if judge(each.key, base + each.timestamp, values_in(each, names))
        ]
        assert choice.count == len(expected)
        assert form.records.walk(b"".join(choice.pieces), choice.count) == expected


@settings(deadline=None, max_examples=100)
@given(fields, asked_names, st.integers(0, 4), st.integers(0, 3), st.integers(1, 12))
def test_a_digest_has_the_distinct_values_of_each_name_or_none_of_too_many(
    form: Form, described: list[Any], names: tuple[bytes, ...], values: int, size: int, most: int
) -> None:
    before, data = made(form, described)
    cursor = form.records.Cursor(data, len(before))
    digest = form.choosing.Digest(cursor, form.choosing.Names(names), values, size)
    gone_through(digest, most)
    for name, found in zip(names, digest.distinct, strict=True):
        expected = {last_of(each, name) for each in before}
        too_many = len(expected) > values or any(len(each or b"") > size for each in expected)
        assert found == (None if too_many else expected)
    if before:
        times = [each.timestamp for each in before]
        assert (digest.least_delta, digest.greatest_delta) == (min(times), max(times))


def verdict(form: Form, data: bytes, count: int) -> str:
    names = form.choosing.Names((b"region", b"tier"))
    question = form.choosing.Question(names, True, by_all, settles, {})
    choice = form.choosing.Choice(form.records.Cursor(data, count), question, 0)
    try:
        choice.go_on()
    except Malformed as error:
        return str(error)
    return repr((choice.count, choice.pieces))


@settings(deadline=None, max_examples=150)
@given(fields, st.data())
def test_both_forms_say_the_same_of_damaged_records(
    described: list[Any], data: st.DataObject
) -> None:
    before, section = made(COMPILED, described)
    damaged = bytearray(section)
    if damaged:
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    told = verdict(COMPILED, bytes(damaged), len(before))
    assert told == verdict(pure(), bytes(damaged), len(before))


class Counting:
    """A judge who counts how often it was asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.calls: list[Any] = []

    def __call__(self, *asked: Any) -> Any:
        self.calls.append(asked)
        return self.answer


def choose(form: Form, tagged: list[bytes], judge: Any, settle: Any, verdicts: Any) -> Any:
    described = [(7, b"key", None, ((b"tag", each),)) for each in tagged]
    found = [form.records.Record(i, *each) for i, each in enumerate(described)]
    data = form.records.encode(found, 0, 0)
    names = form.choosing.Names((b"tag",))
    question = form.choosing.Question(names, True, judge, settle, verdicts)
    choice = form.choosing.Choice(form.records.Cursor(data, len(found)), question, 100)
    assert choice.go_on()
    return choice


def test_a_value_is_judged_once(form: Form) -> None:
    judge = Counting(True)
    verdicts: dict[object, int] = {}
    choice = choose(form, [b"eu", b"us"] * 50, judge, None, verdicts)
    assert judge.calls == [(None, 0, (b"eu",)), (None, 0, (b"us",))]
    assert verdicts == {b"eu": choosing.YES, b"us": choosing.YES}
    assert choice.count == 100
    assert len(choice.pieces) == 1  # they follow each other


def test_what_headers_settle_is_not_judged_and_the_rest_is_judged_each_time(form: Form) -> None:
    judge = Counting(True)
    verdicts: dict[object, int] = {}
    settle = {(b"yes",): True, (b"no",): False, (b"open",): None}.__getitem__
    choice = choose(form, [b"yes", b"no", b"open"] * 3, judge, settle, verdicts)
    assert judge.calls == [(b"key", 107, (b"open",))] * 3
    assert verdicts == {b"yes": choosing.YES, b"no": choosing.NO, b"open": choosing.OPEN}
    assert choice.count == 6


def test_values_that_do_not_repeat_are_soon_judged_without_settling(form: Form) -> None:
    judge, settle = Counting(False), Counting(None)
    choose(form, [b"%d" % i for i in range(500)], judge, settle, {})
    assert len(settle.calls) == choosing.SETTLED_MOST
    assert len(judge.calls) == 500


def test_verdicts_are_bounded_in_number_and_in_size(form: Form) -> None:
    verdicts: dict[object, int] = {}
    choose(form, [b"%d" % i for i in range(10_000)], Counting(False), None, verdicts)
    assert 0 < len(verdicts) <= choosing.VERDICTS_MOST
    verdicts.clear()
    longest = bytes(choosing.VERDICT_BYTES_MOST)
    choose(form, [longest, longest + b"."], Counting(False), None, verdicts)
    assert list(verdicts) == [longest]


@pytest.mark.parametrize("base", [2**62, 2**63 - 6, -(2**62), 1 - 2**63, 0, 2**62 - 1])
def test_times_that_are_far_away_do_not_come_round(form: Form, base: int) -> None:
    for delta in (1 - 2**63, -(2**62), -7, 0, 5, 7, 2**62, 2**63 - 1):
        within = max(1 - 2**63, min(2**63 - 1, base + delta))
        assert form.records.later(base, delta) == within


def test_of_records_with_one_time_that_one_is_judged(form: Form) -> None:
    data = form.records.encode([form.records.Record(0, 7, None, None)], 0, 0)
    judge = Counting(False)
    question = form.choosing.Question(form.choosing.Names(()), False, judge, settles, {})
    form.choosing.Choice(form.records.Cursor(data, 1), question, 2**63 - 1, True).go_on()
    assert judge.calls == [(None, 2**63 - 1, ())]


def test_more_names_than_are_compared_one_by_one_are_found_too(form: Form) -> None:
    names = tuple(b"name-%d" % i for i in range(200))
    tagged = tuple((name, name[5:]) for name in names[::-1])
    data = form.records.encode([form.records.Record(0, 0, None, None, tagged)], 0, 0)
    cursor = form.records.Cursor(data, 1)
    assert cursor.advance()
    found = form.choosing.values_of(cursor, form.choosing.Names(names))
    assert found == tuple(b"%d" % i for i in range(200))


def test_a_walk_that_stops_holds_what_it_has_found_so_far(form: Form) -> None:
    described = [(0, None, None, ((b"tag", b"eu"),))] * 10
    found = [form.records.Record(i, *each) for i, each in enumerate(described)]
    data = form.records.encode(found, 0, 0)
    judge = Counting(True)
    question = form.choosing.Question(form.choosing.Names((b"tag",)), False, judge, None, {})
    choice = form.choosing.Choice(form.records.Cursor(data, 10), question, 0)
    assert not choice.go_on(4)
    assert choice.count == 4
    assert not choice.go_on(0)
    assert choice.go_on(100)
    assert b"".join(choice.pieces) == data
