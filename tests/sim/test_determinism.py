"""The same seed plays the same run, in this process and in any other."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from penstock.sim.run import play
from penstock.sim.trace import Trace

SCRIPT = """
from penstock.sim.run import play
from penstock.sim.trace import Trace
trace = Trace()
play("everything", 5, trace)
print(trace.hash, trace.count)
"""


def hash_of(scenario: str, seed: int) -> tuple[int, int]:
    trace = Trace()
    play(scenario, seed, trace)
    return trace.hash, trace.count


@pytest.mark.parametrize("scenario", ["kill", "network", "everything", "stop", "txn-stop"])
def test_the_same_seed_gives_the_same_trace(scenario: str) -> None:
    assert hash_of(scenario, 5) == hash_of(scenario, 5)


def test_another_seed_gives_another_trace() -> None:
    assert hash_of("kill", 5) != hash_of("kill", 6)


def test_the_trace_does_not_depend_on_the_hashes_of_strings() -> None:
    traces = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, check=True
        )
        traces.add(done.stdout)
    assert len(traces) == 1
