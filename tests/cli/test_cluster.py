"""`penstock cluster`: several brokers on this machine."""

from __future__ import annotations

import json
import socket
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


def test_a_cluster_with_a_setting_that_is_not_there_is_wrong_usage(
    tmp_path: Path, offline: Penstock
) -> None:
    told = offline("cluster", "up", "--data-dir", str(tmp_path / "cluster"), "--set", "foo=bar")
    assert told.exit_code == 2
    assert "unknown setting foo" in told.stderr
    assert not (tmp_path / "cluster").exists()


def test_why_a_cluster_does_not_start_is_said_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "penstock", "cluster", "up", "--brokers", "1", "--detach"]
        told = subprocess.run(
            [*command, "--data-dir", str(tmp_path), "--base-port", str(port)],
            capture_output=True,
            text=True,
            timeout=START_S_MAX,
            check=False,
        )
    assert told.returncode == 1
    assert f"broker 1 did not start: cannot listen at 127.0.0.1:{port}" in told.stderr
