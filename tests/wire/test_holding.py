"""Held records found and copied, in both forms of the code: compiled, and as it is written."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.wire.test_choosing import source

from penstock.wire import choosing, holding, records
from penstock.wire.holding import AFTER, AT, CANCELS, EVERY, MALFORMED, TWICE


class Form(NamedTuple):
    records: Any
    holding: Any


COMPILED = Form(records, holding)


@cache
def pure() -> Form:
    walker = source(records)
    with patch.dict(sys.modules, {records.__name__: walker}):
        chooser = source(choosing)
        with patch.dict(sys.modules, {choosing.__name__: chooser}):
            return Form(walker, source(holding))


@pytest.fixture(scope="module", params=["compiled", "pure"])
def form(request: pytest.FixtureRequest) -> Form:
    if request.param == "pure":
        assert not pure().holding.COMPILED
        return pure()
    if not holding.COMPILED:
        pytest.skip("holding.py was not compiled here: no C compiler, or PENSTOCK_PURE=1")
    return COMPILED


OURS = {
    holding.DELIVER_AT: AT,
    holding.DELAY: AFTER,
    holding.CANCEL: CANCELS,
    holding.CRON: EVERY,
}
LEADERS = (holding.SCHEDULED_ID, holding.NEXT_AT)
names = st.sampled_from([*OURS, *LEADERS, b"x", b"penstock-deliver-au", b""])
values = st.none() | st.sampled_from([b"", b"0", b"17", b"-1", b" 1", b"1" * 18, b"1" * 19, b"1x"])
headers = st.lists(st.tuples(names, values), max_size=4).map(tuple)
payloads = st.none() | st.binary(max_size=5)
fields = st.lists(
    st.tuples(st.integers(-100, 100), payloads, payloads, headers), min_size=1, max_size=20
)


def made(form: Form, described: list[Any]) -> tuple[list[Any], bytes]:
    found = [form.records.Record(offset, *each) for offset, each in enumerate(described)]
    return found, form.records.encode(found, 0, 0)


def number_in(value: bytes | None) -> int:
    if value is None or not 0 < len(value) <= 18 or not value.isdigit():
        return MALFORMED
    return int(value)


def mark_of(record: Any) -> tuple[int, int]:
    """What kind, and the number."""
    kind, number = 0, MALFORMED
    for name, value in record.headers:
        if name in OURS:
            kind |= TWICE if kind & OURS[name] else OURS[name]
            number = number if name == holding.CRON else number_in(value)
    return kind, number


def cron_of(record: Any) -> bytes | None:
    found = [value or b"" for name, value in record.headers if name == holding.CRON]
    return found[-1] if found else None


def gone_through(walk: Any, most: int) -> Any:
    while not walk.go_on(most):
        pass
    return walk


@settings(deadline=None, max_examples=150)
@given(fields, st.integers(1, 12))
def test_what_is_marked_are_records_with_one_of_the_headers(
    form: Form, described: list[Any], most: int
) -> None:
    before, data = made(form, described)
    cursor = form.records.Cursor(data, len(before))
    marked = gone_through(form.holding.Marked(cursor), most)
    expected = [
        (each.offset, each.timestamp, *mark_of(each)) for each in before if mark_of(each)[0]
    ]
    rows = zip(marked.deltas, marked.times, marked.kinds, marked.numbers, strict=True)
    assert list(rows) == expected
    crons = {each.offset: cron_of(each) for each in before if cron_of(each) is not None}
    assert marked.crons == crons


@settings(deadline=None, max_examples=100)
@given(fields, st.integers(1, 12))
def test_ids_are_told_of_all_records_where_they_are_asked_for(
    form: Form, described: list[Any], most: int
) -> None:
    before, data = made(form, described)
    cursor = form.records.Cursor(data, len(before))
    marked = gone_through(form.holding.Marked(cursor, True), most)
    for name, told in zip(LEADERS, (marked.ids, marked.nexts), strict=True):
        said = [[number_in(value) for key, value in each.headers if key == name] for each in before]
        assert told == [each[-1] if each else MALFORMED for each in said]


@settings(deadline=None, max_examples=100)
@given(
    fields,
    st.integers(1, 12),
    st.dictionaries(st.integers(0, 20), st.integers(0, 1 << 60)) | st.none(),
)
def test_what_is_picked_are_unmarked_records_or_those_wanted_with_when_they_come_next(
    form: Form, described: list[Any], most: int, wanted: dict[int, int] | None
) -> None:
    before, data = made(form, described)
    cursor = form.records.Cursor(data, len(before))
    picked = gone_through(form.holding.Picked(cursor, wanted), most)
    expected = [
        each
        for each in before
        if (each.offset in wanted if wanted is not None else not mark_of(each)[0])
    ]
    if wanted is not None:
        repeating = [cron_of(each) is not None for each in expected]
        expected = [
            and_next(form, each, wanted[each.offset]) if repeats else each
            for each, repeats in zip(expected, repeating, strict=True)
        ]
    assert picked.count == len(expected)
    assert form.records.walk(b"".join(picked.pieces), picked.count) == expected


@settings(deadline=None, max_examples=100)
@given(fields, st.integers(1, 12), st.sets(st.integers(0, 19)), st.booleans())
def test_copies_have_key_value_and_other_headers_and_the_id_of_the_original(
    form: Form, described: list[Any], most: int, wanted: set[int], held: bool
) -> None:
    before, data = made(form, described)
    deltas = sorted(each for each in wanted if each < len(before))
    ids, dues = [each + 1000 for each in deltas], [each + 5000 for each in deltas]
    cursor = form.records.Cursor(data, len(before))
    tails = form.holding.Tails(cursor, deltas, ids, dues if held else None)
    gone_through(tails, most)
    assert tails.times == [before[each].timestamp for each in deltas]
    crons = {each + 1000: cron_of(before[each]) for each in deltas}
    assert tails.crons == {key: text for key, text in crons.items() if text is not None}
    section = form.holding.with_tails(tails.found, [7 * n for n in range(len(deltas))])
    copies = form.records.walk(section, len(deltas), 50, 100)
    for number, (copy, delta) in enumerate(zip(copies, deltas, strict=True)):
        original = before[delta]
        dropped = [name for name in (*OURS, *LEADERS) if not (held and name == holding.CRON)]
        others = tuple(each for each in original.headers if each[0] not in dropped)
        due = ((holding.DELIVER_AT, b"%d" % (delta + 5000)),) if held else ()
        assert copy.offset == 50 + number
        assert copy.timestamp == 100 + 7 * number
        assert (copy.key, copy.value) == (original.key, original.value)
        assert copy.headers == (*others, *due, (holding.SCHEDULED_ID, b"%d" % (delta + 1000)))


@settings(deadline=None, max_examples=100)
@given(fields, st.integers(0, 1 << 60))
def test_a_copy_that_comes_again_says_when_behind_its_other_headers(
    form: Form, described: list[Any], next_ms: int
) -> None:
    before, data = made(form, described)
    numbers = list(range(len(before)))
    tails = form.holding.Tails(form.records.Cursor(data, len(before)), numbers, numbers, None)
    gone_through(tails, 100)
    plain = form.holding.with_tails(tails.found, numbers)
    again = [form.holding.with_next(each, next_ms) for each in tails.found]
    section = form.holding.with_tails(again, numbers)
    for copy, other in zip(
        form.records.walk(section, len(before)),
        form.records.walk(plain, len(before)),
        strict=True,
    ):
        assert copy == and_next(form, other, next_ms)


def and_next(form: Form, record: Any, next_ms: int) -> Any:
    headers = (*record.headers, (holding.NEXT_AT, b"%d" % next_ms))
    offset, timestamp = record.offset, record.timestamp
    return form.records.Record(offset, timestamp, record.key, record.value, headers)
