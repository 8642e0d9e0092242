from __future__ import annotations

from penstock.coordination.pace import COST_A_SLICE, Pace


def test_a_pause_comes_when_so_much_was_done_and_then_again() -> None:
    pace = Pace()
    spent = [pace.is_spent(COST_A_SLICE // 4) for _ in range(8)]
    assert spent == [False, False, False, True] * 2


def test_something_large_is_followed_by_one_pause() -> None:
    pace = Pace()
    assert pace.is_spent(10 * COST_A_SLICE)
    assert not pace.is_spent(COST_A_SLICE - 1)
