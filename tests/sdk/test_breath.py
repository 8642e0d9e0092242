"""The one thread that looks at the clock for all consumers of a process."""

from __future__ import annotations

import subprocess
import sys
import threading

from penstock.sdk.breath import Breath

FORKED = """
import os, time
from penstock.sdk.breath import Breath

kept = Breath()
kept.begin()
child = os.fork()
if child == 0:
    mine = Breath()
    mine.begin()
    deadline = time.monotonic() + 60
    while not mine.is_due and time.monotonic() < deadline:
        time.sleep(0.05)
    os._exit(0 if mine.is_due else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_there_is_one_thread_however_often_consumers_come_and_go() -> None:
    for _ in range(20):
        breath = Breath()
        breath.begin()
        breath.end()
    kept = Breath()
    kept.begin()
    names = [each.name for each in threading.enumerate()]
    kept.end()
    assert names.count("penstock-breath") == 1


def test_a_forked_process_has_a_thread_of_its_own() -> None:
    """Consumers that were there before the fork are of no use to it, and none of its concern."""
    command = [sys.executable, "-W", "ignore", "-c", FORKED]
    assert subprocess.run(command, check=False, timeout=100).returncode == 0
