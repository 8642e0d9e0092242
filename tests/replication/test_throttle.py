from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.replication.throttle import Throttle


def test_what_was_copied_is_paid_for_by_waiting() -> None:
    throttle = Throttle()
    assert throttle.took(500, now_ms=0, rate=1000) == 500
    assert throttle.took(500, now_ms=500, rate=1000) == 1000


def test_several_who_copy_at_once_wait_for_each_other() -> None:
    throttle = Throttle()
    throttle.took(1000, now_ms=0, rate=1000)
    assert throttle.took(1000, now_ms=0, rate=1000) == 2000


def test_time_without_copying_is_not_saved_up() -> None:
    throttle = Throttle()
    throttle.took(1000, now_ms=0, rate=1000)
    assert throttle.took(1000, now_ms=1_000_000, rate=1000) == 1_001_000


@given(st.lists(st.integers(1, 10_000_000), min_size=1), st.integers(1, 1_000_000_000))
def test_who_waits_as_told_copies_no_faster_than_the_rate(sizes: list[int], rate: int) -> None:
    throttle, now_ms = Throttle(), 0.0
    for size in sizes:
        now_ms = throttle.took(size, now_ms, rate)
    assert sum(sizes) <= rate * now_ms / 1000 * 1.000001 + 1
