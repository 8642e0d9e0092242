"""Which objects the collector looks at, and when."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from penstock.node.garbage import ALL_AT_LATEST_S, ALL_EVERY_S, THRESHOLDS, Garbage


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
