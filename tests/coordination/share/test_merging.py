"""Stretches of records laid over others, against a state for each offset."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.coordination.share.offsets import BATCHES, LAST, is_in_order, plain
from tests.coordination.stepping import lines_run

from penstock.coordination.share.merging import merge
from penstock.wire.delivery import StateBatch

AVAILABLE, DONE = 0, 2


def test_neighbours_that_are_alike_become_one() -> None:
    merged = merge([StateBatch(0, 4, DONE, 1), StateBatch(6, 9, DONE, 1)], [], 0)
    assert merge(merged, [StateBatch(5, 5, DONE, 1)], 0) == (StateBatch(0, 9, DONE, 1),)


def test_what_was_delivered_more_often_stays_apart() -> None:
    apart = (StateBatch(0, 4, AVAILABLE, 1), StateBatch(5, 9, AVAILABLE, 2))
    assert merge((), apart, 0) == apart


def test_what_is_newer_splits_what_is_older() -> None:
    assert merge([StateBatch(0, 9, AVAILABLE, 1)], [StateBatch(4, 5, DONE, 1)], 0) == (
        StateBatch(0, 3, AVAILABLE, 1),
        StateBatch(4, 5, DONE, 1),
        StateBatch(6, 9, AVAILABLE, 1),
    )


def test_what_lies_below_the_start_is_gone() -> None:
    batches = [StateBatch(0, 4, DONE, 1), StateBatch(6, 9, DONE, 1)]
    assert merge(batches, [StateBatch(1, 2, AVAILABLE, 1)], 7) == (StateBatch(7, 9, DONE, 1),)
    assert merge(batches, [], 10) == ()


@given(BATCHES, BATCHES, st.integers(-1, LAST + 2))
def test_every_offset_is_in_the_state_that_it_was_put_in_last(
    older: list[StateBatch], newer: list[StateBatch], start: int
) -> None:
    before = merge((), older, -1)
    merged = merge(before, newer, start)
    expected = {**plain(older), **plain(newer)}
    assert plain(merged) == {at: what for at, what in expected.items() if at >= start}
    assert is_in_order(before)
    assert is_in_order(merged)
    assert merge(merged, newer, start) == merged, "said again, it changes nothing"


def test_little_that_is_new_is_little_work() -> None:
    """However much is there already."""

    def work(count: int) -> int:
        older = tuple(StateBatch(2 * at, 2 * at, DONE, 1) for at in range(count))
        return lines_run(lambda: merge(older, [StateBatch(count, count + 3, DONE, 2)], 0))

    assert work(2000) == work(20)
