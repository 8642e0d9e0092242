"""Everything on a Spark cluster at once, killed at every place there is, and then by chance.

`make chaos DURATION=300` goes on for so long. tests/spark/test_cluster.py has one job of each kind.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cluster_faults import SECONDS
from tests.cluster_process import Cluster
from tests.lanes import in_chaos
from tests.spark.cluster_stage import Stage
from tests.spark.held_jobs import HOLDS
from tests.spark.standalone import running

LONGEST_S = 30
"""Between a driver's start, or a kill, and the next kill."""
MESSAGES = 200
"""That come meanwhile."""


@pytest.mark.timeout(1800 + 2 * SECONDS)
@in_chaos
def test_a_spark_cluster_is_exact_wherever_it_is_killed(
    own_cluster: Callable[..., Cluster], topic: str, tmp_path: Path
) -> None:
    chance = random.Random(7)
    (tmp_path / "standalone").mkdir()
    with running(tmp_path / "standalone", workers=2) as spark:
        stage = Stage(own_cluster().start(3), spark, topic, tmp_path, HOLDS)
        try:
            stage.prepare()
            stage.start_driver()
            stage.kill_executors()
            stage.kill_leader()
            stage.kill_driver()
            harass(stage, chance)
            stage.finish()
            stage.check()
        finally:
            stage.close()


def harass(stage: Stage, chance: random.Random) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        stage.send(MESSAGES)
        if not stage.is_running():
            stage.start_driver()
        time.sleep(chance.uniform(0, LONGEST_S))
        stage.kill_by_chance(chance)
    stage.end()
