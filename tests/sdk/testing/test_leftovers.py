"""Nothing is left behind, however tests end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.group_stage import wait_until

from penstock.cli.local_cluster import is_alive
from penstock.sdk.testing.nursery import Nursery

TESTS = """
import json, sys, time
from penstock.sdk.testing.nursery import shared_nursery
from penstock.testing import running_broker

brokers = [running_broker(), running_broker(in_process=True), running_broker()]
brokers[0].pause()
told = {
    "ports": [each.port for each in brokers],
    "pids": [shared_nursery().pid, *(each._vessel.pid for each in brokers[::2])],
    "folders": [str(shared_nursery().folder), brokers[1]._settings["log.dir"]],
}
sys.stdout.write(json.dumps(told) + "\\n")
sys.stdout.flush()
sys.stdin.readline()
"""


@pytest.fixture
def tests() -> Iterator[subprocess.Popen[str]]:
    """A process that has brokers, and waits for a line."""
    running = subprocess.Popen(
        [sys.executable, "-c", TESTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with running:
        yield running
        running.kill()


def told_by(tests: subprocess.Popen[str]) -> Any:
    assert tests.stdout is not None
    told = json.loads(tests.stdout.readline())
    assert all(map(is_alive, told["pids"]))
    assert all(Path(each).exists() for each in told["folders"])
    return told


def check_gone(told: Any) -> None:
    def all_gone() -> bool:
        folders = [each for each in told["folders"] if Path(each).exists()]
        return not folders and not any(map(is_alive, told["pids"]))

    wait_until(all_gone, "everything to be gone")
    for port in told["ports"]:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


def test_tests_that_are_killed_leave_nothing_behind(tests: subprocess.Popen[str]) -> None:
    told = told_by(tests)
    tests.kill()
    tests.wait()
    check_gone(told)


def test_tests_that_forget_their_brokers_leave_nothing_behind(
    tests: subprocess.Popen[str],
) -> None:
    told = told_by(tests)
    assert tests.stdin is not None
    tests.stdin.write("end\n")
    tests.stdin.flush()
    assert tests.wait(60) == 0
    check_gone(told)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_brokers_end_with_the_process_that_they_were_started_from(
    tmp_path: Path, number: signal.Signals
) -> None:
    nursery = Nursery()
    texts = {"log.dir": str(tmp_path / "data"), "listeners": "127.0.0.1:0"}
    pid = nursery.start(texts, tmp_path / "log").pid
    os.kill(nursery.pid, number)
    wait_until(lambda: not is_alive(pid), "the broker to be gone")
    with pytest.raises(Exception, match="has ended"):
        nursery.start(texts, tmp_path / "log")
    nursery.close()
    assert not nursery.folder.exists()
