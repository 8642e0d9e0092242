"""A store that is put back under brokers whose data is newer: who has most leads."""

from __future__ import annotations

import pytest

from penstock.sim.run import play

SEEDS = range(1, 9)
BROKERS = 3


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_committed_after_the_backup_is_there_after_the_restore(seed: int) -> None:
    result = play("restore", seed, brokers=BROKERS)
    again = (
        f"python -m penstock.sim --scenario restore --brokers {BROKERS} --first {seed} --seeds 1"
    )
    assert not result.findings, f"{result.findings[:3]}; again: {again}"
    assert result.sent > 0
