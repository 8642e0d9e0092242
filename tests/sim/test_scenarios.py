"""A slice of every scenario, on the real broker; `python -m penstock.sim` plays more of them."""

from __future__ import annotations

import pytest

from penstock.sim.__main__ import main
from penstock.sim.run import play
from penstock.sim.scenarios import settled

SEEDS = range(1, 21)
SLICES = 10


@pytest.mark.parametrize("part", range(SLICES))
@pytest.mark.parametrize("scenario", settled())
def test_nothing_is_lost_doubled_or_reordered(scenario: str, part: int) -> None:
    for seed in SEEDS[part::SLICES]:
        result = play(scenario, seed)
        again = f"python -m penstock.sim --scenario {scenario} --seeds 1 --first {seed} --trace"
        assert not result.findings, f"{result.findings[:3]}; again: {again}"
        assert result.sent > 0


def test_the_command_says_how_much_was_played(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "2", "--first", "3", "--scenario", "calm"]) == 0
    assert "2 runs, 0 failed" in capsys.readouterr().out
