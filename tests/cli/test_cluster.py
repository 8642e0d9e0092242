"""`penstock cluster`: several brokers on this machine."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.cli.conftest import Penstock, run

from penstock.cli.local_cluster import (
    STATE_FILE,
    LocalCluster,
    Member,
    State,
    birth_of,
    is_alive,
    read_state,
)

START_S_MAX = 120


def up(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", "cluster", "up", "--base-port", "0", *options]
    return subprocess.run(
        [*command, "--data-dir", str(folder)],
        capture_output=True,
        text=True,
        timeout=START_S_MAX,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path, offline: Penstock) -> Iterator[Path]:
    """Of a cluster of three, in the background; `up` has just returned."""
    folder = tmp_path / "cluster"
    told = up(folder, "--detach")
    assert told.returncode == 0, told.stderr
    yield folder
    assert offline("cluster", "down", "--data-dir", str(folder)).exit_code == 0
    assert not (folder / STATE_FILE).exists()


def pids(folder: Path) -> dict[int, int]:
    """Of the brokers, by their ids; all of them run."""
    state = read_state(folder)
    assert all(is_alive(each.pid) for each in state.brokers)
    return {each.node_id: each.pid for each in state.brokers}


def test_a_second_cluster_in_the_same_folder_is_refused_and_leaves_the_first_alone(
    folder: Path,
) -> None:
    before = pids(folder)
    for way in ((), ("--detach",)):
        told = up(folder, *way)
        assert told.returncode == 1
        assert f"a cluster is running in {folder}; stop it with" in told.stderr
        assert pids(folder) == before


def test_a_broker_that_dies_is_started_again(folder: Path, offline: Penstock) -> None:
    before = read_state(folder)
    victim = before.brokers[1]
    os.kill(victim.pid, signal.SIGKILL)
    give_up_s = time.monotonic() + START_S_MAX
    while read_state(folder).brokers[1].pid == victim.pid:
        assert time.monotonic() < give_up_s
        time.sleep(0.1)
    after = read_state(folder)
    assert after.bootstrap == before.bootstrap
    assert run(f"127.0.0.1:{victim.port}", "topic", "create", "t").exit_code == 0
    assert offline("cluster", "status", "--data-dir", str(folder)).exit_code == 0


@pytest.mark.parametrize("is_own", [True, False])
def test_what_is_running_is_forgotten_by_who_has_noted_it(tmp_path: Path, is_own: bool) -> None:
    """Two may be started in one folder before either has."""
    path = tmp_path / STATE_FILE
    owner = os.getpid() if is_own else os.getppid()
    path.write_bytes(msgspec.json.encode(State(owner, "sqlite:x", [])))
    LocalCluster(tmp_path, 1, 0, "", {}, print).close()
    assert path.exists() is not is_own


def test_a_process_that_has_the_id_of_a_broker_by_now_is_left_alone(
    tmp_path: Path, offline: Penstock
) -> None:
    """After a reboot ids are used again."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        members = [Member(1, 9092, other.pid, "another boot 1")]
        state = State(other.pid, "sqlite:x", members, "another boot 1")
        (tmp_path / STATE_FILE).write_bytes(msgspec.json.encode(state))
        shown = offline("cluster", "status", "--data-dir", str(tmp_path), "--json")
        assert json.loads(shown.stdout)["brokers"][0]["state"] == "down"
        assert offline("cluster", "down", "--data-dir", str(tmp_path)).exit_code == 0
        assert is_alive(other.pid, birth_of(other.pid))
        other.communicate(b"\n")
        assert other.returncode == 0


def test_a_cluster_without_brokers_has_a_status(tmp_path: Path, offline: Penstock) -> None:
    state = State(os.getppid(), "sqlite:x", [])
    (tmp_path / STATE_FILE).write_bytes(msgspec.json.encode(state))
    shown = offline("cluster", "status", "--data-dir", str(tmp_path))
    assert shown.exit_code == 0
    assert "ADDRESS" in shown.stdout


def test_brokers_that_nobody_looks_after_any_more_are_not_passed_off_as_a_cluster_that_is_up(
    tmp_path: Path, offline: Penstock
) -> None:
    members = [Member(1, 9092, os.getpid(), birth_of(os.getpid()))]
    state = State(os.getppid(), "sqlite:x", members, "another boot 1")
    (tmp_path / STATE_FILE).write_bytes(msgspec.json.encode(state))
    shown = offline("cluster", "status", "--data-dir", str(tmp_path), "--json")
    assert shown.exit_code == 1
    told = json.loads(shown.stdout)
    assert (told["watched"], told["brokers"][0]["state"]) == (False, "running")
    assert "nobody starts brokers again that die" in shown.stderr
    assert f"`penstock cluster down --data-dir {tmp_path}`" in shown.stderr


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
