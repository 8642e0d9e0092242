"""A slice of every scenario, on the real broker; `python -m penstock.sim` plays more of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.sim.__main__ import main
from penstock.sim.run import play
from penstock.sim.scenarios import SCENARIOS

SEEDS = {1: 2, 3: 1, 4: 1}
"""How many, by the brokers it takes: more of them cost more."""
TRANSACTION_SEEDS = {1: 1, 3: 1}
"""There are many scenarios with transactions, and their safeguards are played beside them."""


def runs() -> Iterator[tuple[str, int, int]]:
    for name in SCENARIOS:
        several = SEEDS if SCENARIOS[name].habits is None else TRANSACTION_SEEDS
        for brokers, seeds in several.items():
            least = SCENARIOS[name].brokers_min
            if brokers == least or (brokers == 3 and least == 1):
                yield from ((name, brokers, seed) for seed in range(1, seeds + 1))


@pytest.mark.parametrize(("scenario", "brokers", "seed"), [*runs()])
def test_nothing_is_lost_doubled_or_reordered(scenario: str, brokers: int, seed: int) -> None:
    result = play(scenario, seed, brokers=brokers)
    again = f"--scenario {scenario} --brokers {brokers} --seeds 1 --first {seed} --trace"
    assert not result.findings, f"{result.findings[:3]}; again: python -m penstock.sim {again}"
    assert result.sent + result.commits + result.transactions + result.shares > 0


def test_the_command_says_how_much_was_played(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "2", "--first", "3", "--scenario", "calm"]) == 0
    told = capsys.readouterr().out
    assert "calm, brokers 1: 2 runs, 0 failed" in told
    assert "calm, brokers 3: 2 runs, 0 failed" in told
    assert "all: 4 runs, 0 failed" in told


def test_a_scenario_is_played_with_as_many_brokers_as_it_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--seeds", "1", "--brokers", "1", "--scenario", "cut-off-leader"]) == 0
    assert "cut-off-leader, brokers 3: 1 runs" in capsys.readouterr().out
