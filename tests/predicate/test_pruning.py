"""Batches that are left out unread, against what judging each of their records says."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.predicate.reference import NAMES, chances, leaves, meant, records, spelled, trees

from penstock.predicate.predicate import parse
from penstock.predicate.pruning import MANY, HeaderValues, Summary


def summary_of(some: list[Any], hidden: set[str], missing: set[str]) -> Summary:
    values: dict[bytes, HeaderValues] = {}
    for name in set(NAMES) - missing:
        distinct = {headers[name] for _, _, headers in some}
        values[name.encode()] = MANY if name in hidden else distinct
    times = [timestamp for _, timestamp, _ in some]
    return Summary(min(times), max(times), values)


names = st.sets(st.sampled_from(NAMES), max_size=3)


@settings(deadline=None, max_examples=250)
@given(
    trees,
    st.lists(records, min_size=1, max_size=4),
    names,
    names,
    chances,
)
def test_a_batch_with_a_match_is_never_left_out(
    tree: Any, some: list[Any], hidden: set[str], missing: set[str], chance: Random
) -> None:
    predicate = parse(spelled(tree, chance))
    summary = summary_of(some, hidden, missing)
    if any(meant(tree, *record) is True for record in some):
        assert predicate.may_match(summary)


@settings(deadline=None, max_examples=150)
@given(leaves(), st.lists(records, min_size=1, max_size=4), chances)
def test_one_term_about_a_header_is_told_exactly(
    leaf: Any, some: list[Any], chance: Random
) -> None:
    predicate = parse(spelled(leaf, chance))
    if isinstance(leaf[0], str):
        expected = any(meant(leaf, *record) is True for record in some)
        assert predicate.may_match(summary_of(some, set(), set())) is expected


EUROPE = Summary(100, 200, {b"region": {b"eu"}, b"tier": {b"gold", None}, b"id": MANY})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("region = 'eu'", True),
        ("region = 'us'", False),
        ("region != 'eu'", False),
        ("not region = 'eu'", False),
        ("not (region = 'us')", True),
        ("region = 'us' or tier = 'gold'", True),
        ("region = 'us' or tier = 'silver'", False),
        ("region = 'eu' and tier = 'silver'", False),
        ("not (region = 'eu' or id = '7')", False),
        ("tier is null", True),
        ("region is null", False),
        ("tier != 'gold'", False),  # what has none is unknown, and not another
        ("id = '7'", True),
        ("unheard = '7'", True),
        ("region = 'us' and unheard = '7'", False),
        ("region = 'us' and key = '7'", False),
        ("region = 'eu' and key = '7'", True),
        ("timestamp < 100", False),
        ("timestamp <= 100", True),
        ("timestamp > 200", False),
        ("timestamp between 120 and 130", True),
        ("timestamp not between 50 and 200", False),
        ("timestamp not between 101 and 250", True),
        ("timestamp in (99, 201)", False),
        ("timestamp is null", False),
        ("not timestamp >= 100", False),
    ],
)
def test_batches_are_left_out_where_no_value_makes_it_true(text: str, expected: bool) -> None:
    assert parse(text).may_match(EUROPE) is expected


def test_a_batch_without_records_matches_nothing() -> None:
    empty = Summary(0, 0, {b"region": ()})
    assert not parse("region = 'eu' or region is null").may_match(empty)
    assert not parse("not region = 'eu'").may_match(empty)
