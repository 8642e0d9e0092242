"""Which objects the collector looks at, and when."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from penstock.node.garbage import (
    ALL_AT_LATEST_S,
    ALL_EVERY_S,
    GROWN_BYTES,
    GROWN_EVERY_S,
    THRESHOLDS,
    Garbage,
    resident_bytes,
)


class Knot:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def garbage() -> Iterator[Garbage]:
    before = gc.get_threshold()
    yield Garbage(now_s=0, spent_s=0)
    gc.unfreeze()
    gc.set_threshold(*before)


def an_old_knot() -> weakref.ref[Knot]:
    knot = Knot()
    gc.freeze()
    return weakref.ref(knot)


def test_what_lives_on_is_set_aside_before_it_becomes_much_to_look_at(garbage: Garbage) -> None:
    kept: list[list[int]] = []
    seen = []
    gc.callbacks.append(lambda phase, info: seen.append(info["generation"]))
    try:
        for second in range(20):
            kept += ([] for _ in range(THRESHOLDS[0] * 50))
            garbage.look(now_s=second, spent_s=second)
    finally:
        gc.callbacks.pop()
    assert set(seen) == {0, 1}
    assert gc.get_freeze_count() > len(kept) / 2


@pytest.mark.parametrize(
    ("now_s", "spent_s", "is_found"),
    [
        (ALL_EVERY_S / 2, 0, False),
        (ALL_EVERY_S + 1, 0, True),
        (ALL_EVERY_S + 1, ALL_EVERY_S / 2, False),
        (ALL_AT_LATEST_S + 1, ALL_AT_LATEST_S, True),
    ],
    ids=["too early", "nothing to do", "busy", "never anything but busy"],
)
def test_old_circles_are_looked_for_in_a_quiet_moment(
    garbage: Garbage, now_s: float, spent_s: float, is_found: bool
) -> None:
    knot = an_old_knot()
    garbage.look(now_s, spent_s)
    assert (knot() is None) == is_found


@pytest.mark.parametrize(
    ("grown", "after_s", "is_found"),
    [
        (GROWN_BYTES // 2, GROWN_EVERY_S + 1, False),
        (10 * GROWN_BYTES, GROWN_EVERY_S / 2, False),
        (10 * GROWN_BYTES, GROWN_EVERY_S + 1, True),
    ],
    ids=["a little", "too early", "much"],
)
def test_old_circles_are_looked_for_when_memory_grows_even_if_busy(
    garbage: Garbage, grown: int, after_s: float, is_found: bool
) -> None:
    knot = an_old_knot()
    garbage.look(1, 1, GROWN_BYTES)
    garbage.look(after_s, after_s, GROWN_BYTES + grown)
    assert (knot() is None) == is_found


def test_what_memory_is_left_after_a_look_is_what_the_next_growth_counts_from(
    garbage: Garbage,
) -> None:
    garbage.look(1, 1, GROWN_BYTES)
    first = GROWN_EVERY_S + 2
    garbage.look(first, first, 10 * GROWN_BYTES)
    knot = an_old_knot()
    for second in range(first + 1, first + 2 * GROWN_EVERY_S):
        garbage.look(second, second, 10 * GROWN_BYTES)
    assert knot() is not None


def test_how_much_memory_there_is_can_be_told() -> None:
    assert resident_bytes() > 1 << 20
