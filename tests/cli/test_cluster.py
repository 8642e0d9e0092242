"""`penstock cluster`: several brokers on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Penstock, run

START_S_MAX = 120


@pytest.fixture
def folder(tmp_path: Path, offline: Penstock) -> Iterator[Path]:
    """Of a cluster of three, in the background; `up` has just returned."""
    folder = tmp_path / "cluster"
    command = [sys.executable, "-m", "penstock", "cluster", "up", "--detach", "--base-port", "0"]
    told = subprocess.run(
        [*command, "--data-dir", str(folder)],
        capture_output=True,
        text=True,
        timeout=START_S_MAX,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    yield folder
    assert offline("cluster", "down", "--data-dir", str(folder)).exit_code == 0


def test_a_cluster_that_is_up_takes_topics_with_a_replica_on_each_broker(
    folder: Path, offline: Penstock
) -> None:
    """Whichever broker is asked, at once."""
    status = offline("cluster", "status", "--data-dir", str(folder), "--json")
    for row in json.loads(status.stdout)["brokers"]:
        topic = f"of-{row['broker']}"
        made = run(row["address"], "topic", "create", topic, "--replication-factor", "3")
        assert made.exit_code == 0, made.stderr
