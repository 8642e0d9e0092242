"""A real cluster with two workers, on which everything runs at once and something is killed in each
of its phases: topic, tables and copies have each message once, in order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cluster_process import Cluster
from tests.spark.cluster_stage import Stage
from tests.spark.standalone import Standalone

pytestmark = pytest.mark.timeout(900)

JOBS = ("archive", "replay", "sink", "update")
"""One of each kind; `make chaos` has more, with a place of its own each."""


def test_everything_on_a_cluster_is_exact_though_all_is_killed(
    own_cluster: Callable[..., Cluster], standalone: Standalone, topic: str, tmp_path: Path
) -> None:
    stage = Stage(own_cluster().start(3), standalone, topic, tmp_path, JOBS)
    try:
        stage.prepare()
        stage.start_driver()
        stage.kill_executors()
        stage.kill_leader()
        stage.kill_driver()
        stage.finish()
        stage.check()
    finally:
        stage.close()
