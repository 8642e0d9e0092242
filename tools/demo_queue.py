"""The part of the demo in which jobs are given to workers, one of whom is killed.

`python -m tools.demo_queue ADDRESS FILE` is a worker: it writes the numbers of its jobs to a file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from penstock import Queue
from penstock.sdk import Job, Reject

TOPIC = "parcels"
JOBS = 2000
BAD = frozenset(range(13, JOBS, 500))
"""Nobody can do these."""
WORKERS = 2
THREADS = 4
WAIT_S = 60

Run = Callable[..., None]


def queue(address: str, replicas: int, folder: Path, run: Run, console: Console) -> bool:
    """Whether every job was done, and those that nobody can do are dead letters."""
    Queue.ensure(
        address, TOPIC, partitions=2, replicas=replicas, dead_letters=True, delete_on_ack=True
    )
    with Queue(address, TOPIC) as jobs:
        jobs.put_many(str(number) for number in range(JOBS))
    console.print(f"  {JOBS:,} jobs in {TOPIC}, for {WORKERS} workers with {THREADS} threads each")
    files = [folder / f"worker-{number}" for number in range(WORKERS)]
    workers = [_start(address, file) for file in files]
    try:
        _wait(lambda: len(_numbers(files[0])) > JOBS // 10, "a worker has begun")
        workers[0].kill()
        console.print(f"  kill -9 of a worker, with {len(_done(files)):,} jobs done")
        _wait(lambda: set(_done(files)) >= set(range(JOBS)) - BAD, "all jobs are done")
        _wait(lambda: _letters(address) == len(BAD), "the others are dead letters")
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    done = _done(files)
    twice = len(done) - len(set(done))
    console.print(f"  {len(set(done)):,} jobs done, {twice} of them again after the kill")
    run("queue", "stats", TOPIC)
    run("queue", "redrive", TOPIC, "--yes")
    return set(done) == set(range(JOBS)) - BAD and twice < JOBS // 10


def _start(address: str, file: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "tools.demo_queue", address, str(file)])


def _numbers(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().splitlines()] if file.exists() else []


def _done(files: list[Path]) -> list[int]:
    return [number for file in files for number in _numbers(file)]


def _letters(address: str) -> int:
    from penstock.client.cluster import WireClient  # noqa: PLC0415
    from penstock.client.queues import queue_groups  # noqa: PLC0415

    with WireClient(address) as client:
        (group,) = queue_groups(client, TOPIC)
    return (group.dead_letters and group.dead_letters.held) or 0


def _wait(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"after {WAIT_S} s it was not so that {what}")
        time.sleep(0.1)


def work(address: str, file: str) -> None:
    log = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def do(job: Job[str]) -> None:
        if int(job.value) in BAD:
            raise Reject("nobody can do this")
        os.write(log, f"{job.value}\n".encode())

    with Queue(address, TOPIC) as jobs:
        jobs.work(do, concurrency=THREADS)


if __name__ == "__main__":
    work(*sys.argv[1:])
