"""Summaries of real batches: what they hold, and that no match is missed by them."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.predicate.reference import NAMES, chances, records, spelled, trees

from penstock.predicate.predicate import parse
from penstock.predicate.pruning import MANY, Summary
from penstock.predicate.summarising import summary_of
from penstock.wire.batch import HEADER_SIZE, read_header, seal
from penstock.wire.batch_builder import build_batch, rebuild
from penstock.wire.narrowing import narrowed
from penstock.wire.records import Record

LIMIT = 1 << 20


def batch_of(some: list[Any], append_time_ms: int | None = None) -> bytes:
    made = [
        Record(i, timestamp, key, b"v", tuple((n.encode(), v) for n, v in headers.items()))
        for i, (key, timestamp, headers) in enumerate(some)
    ]
    return bytes(build_batch(made, append_time_ms=append_time_ms))


def summarised(batch: bytes, names: tuple[bytes, ...], values_most: int = 64) -> Summary:
    return summary_of(read_header(batch), batch[HEADER_SIZE:], names, values_most)


@settings(deadline=None, max_examples=150)
@given(
    trees,
    st.lists(records, min_size=1, max_size=5),
    st.none() | st.integers(-5, 15),
    st.integers(0, 4),
    chances,
)
def test_a_batch_that_is_left_out_by_its_summary_has_no_match(
    tree: Any, some: list[Any], append_time_ms: int | None, values_most: int, chance: Random
) -> None:
    batch = batch_of(some, append_time_ms)
    predicate = parse(spelled(tree, chance))
    summary = summarised(batch, tuple(name.encode() for name in NAMES[:4]), values_most)
    if not predicate.may_match(summary):
        assert narrowed(batch, predicate, {}, LIMIT) is None


def tagged(*values: bytes | None) -> list[Any]:
    return [(None, 10 * i, {"a": value}) for i, value in enumerate(values)]


def test_a_summary_has_the_values_of_each_name_and_the_bounds_of_time() -> None:
    batch = batch_of(tagged(b"x", None, b"y", b"x"))
    assert summarised(batch, (b"a", b"b")) == Summary(
        0, 30, {b"a": frozenset({b"x", b"y", None}), b"b": frozenset({None})}
    )


def test_too_many_values_and_long_ones_are_many() -> None:
    assert summarised(batch_of(tagged(b"x", b"y")), (b"a",), 1).values == {b"a": MANY}
    assert summarised(batch_of(tagged(bytes(65))), (b"a",)).values == {b"a": MANY}


def test_the_time_of_the_append_is_every_records_time() -> None:
    summary = summarised(batch_of(tagged(b"x", b"y"), append_time_ms=777), ())
    assert (summary.least_timestamp, summary.greatest_timestamp) == (777, 777)


@pytest.mark.parametrize("base_ms", [2**63 - 6, -(2**63)])
def test_times_that_are_far_away_stay_within_what_there_is_room_for(base_ms: int) -> None:
    batch = batch_of(tagged(b"x", b"y"))
    far = bytes(seal(read_header(batch)._replace(base_timestamp=base_ms), batch[HEADER_SIZE:]))
    summary = summarised(far, ())
    assert summary.least_timestamp == base_ms
    assert summary.greatest_timestamp == min(2**63 - 1, base_ms + 10)


def test_nothing_matches_in_a_batch_that_compaction_has_emptied() -> None:
    batch = batch_of(tagged(b"x"))
    empty = bytes(rebuild(read_header(batch), b"", ()))
    summary = summarised(empty, (b"a",))
    for text in ("a = 'x'", "a is null", "timestamp > 0", "timestamp is not null"):
        assert not parse(text).may_match(summary)
