"""How workers end: killed, forked, forgotten, closed."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import Queue
from penstock.sdk import PenstockError
from penstock.testing import Broker

WAIT_S = 30.0
DOOMED = Path(__file__).with_name("doomed_worker.py")

Make = Callable[..., Queue[Any]]


def threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith("penstock-share")]


def test_the_jobs_of_a_worker_that_was_killed_come_to_others(
    penstock_broker: Broker, make: Make, name: str
) -> None:
    queue = make()
    queue.put_many(["a", "b", "c"])
    command = [sys.executable, str(DOOMED), penstock_broker.bootstrap, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        had = {worker.stdout.readline().strip() for _ in range(3)}
        worker.kill()
    assert had == {"a", "b", "c"}
    jobs = [queue.get(WAIT_S) for _ in range(3)]
    assert {job.value for job in jobs} == had
    assert {job.delivery_count for job in jobs} == {2}


def test_close_ends_all_threads(make: Make) -> None:
    before = set(threads())
    queue = make()
    queue.put("x")
    queue.get(WAIT_S)
    assert len(set(threads()) - before) == 2
    queue.close()
    assert set(threads()) == before


def test_a_queue_that_only_puts_has_no_threads(make: Make) -> None:
    before = set(threads())
    make().put("x")
    assert set(threads()) == before


def test_a_queue_that_was_forgotten_leaves_and_its_jobs_come_to_others(
    penstock_broker: Broker, make: Make, name: str
) -> None:
    before = set(threads())
    forgotten: Queue[str] = Queue(penstock_broker.bootstrap, name)
    make().put("x")
    job = forgotten.get(WAIT_S)
    ours = set(threads()) - before
    watched = weakref.ref(forgotten)
    del forgotten, job
    gc.collect()
    assert watched() is None
    for thread in ours:
        thread.join(WAIT_S)
        assert not thread.is_alive()
    assert make().get(WAIT_S).value == "x"


def test_a_job_keeps_its_queue(penstock_broker: Broker, make: Make, name: str) -> None:
    make().put("x")
    job = Queue(penstock_broker.bootstrap, name).get(WAIT_S)
    gc.collect()
    job.ack()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forking with threads
def test_a_child_needs_a_queue_of_its_own_and_its_parent_goes_on(make: Make) -> None:
    queue = make()
    queue.put("x")
    job = queue.get(WAIT_S)
    child = os.fork()
    if child == 0:
        said = 1
        try:
            queue.get(1)
        except PenstockError as error:
            said = 0 if "forked" in str(error) else 2
        os._exit(said)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    job.ack()
    queue.put("y")
    queue.get(WAIT_S).ack()


def test_a_program_that_ends_without_close_gives_its_jobs_back_uncounted(
    penstock_broker: Broker, make: Make, name: str
) -> None:
    queue = make()
    queue.put("x")
    program = (
        "import sys; from penstock import Queue; "
        "print(Queue(*sys.argv[1:]).get(30).value, flush=True)"
    )
    command = [sys.executable, "-c", program, penstock_broker.bootstrap, name]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "x\n", "")
    assert queue.get(WAIT_S).delivery_count == 1
