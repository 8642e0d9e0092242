"""Archives or replays in a process of its own, which kills itself at the point it is told.

A point such as `commit+3` is three milliseconds after the beginning of that step: the blow comes
from outside, whatever the step is doing then.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any, TypeVar

from penstock.client.producer import Producer
from penstock.spark.archive.archiver import ArchiveOptions, Archiver
from penstock.spark.archive.tasks import Here, Job, run_task
from penstock.spark.replay import tasks
from penstock.spark.replay.replayer import Replayer, ReplayOptions
from penstock.spark.tables.delta.table import DeltaTopicTable
from penstock.spark.tables.files import DataFile
from penstock.spark.tables.topic_table import TableFormat

T = TypeVar("T")
TURN = 3
"""Of a step at which it ends: by then there is something behind it, and something to come."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def die_in(delay_ms: int) -> None:
    told = f"sleep {delay_ms / 1000}; kill -9 {os.getpid()}"
    subprocess.Popen(["sh", "-c", told])


class Point:
    def __init__(self, text: str) -> None:
        self._step, _, delay = text.partition("+")
        self._delay_ms = int(delay) if delay else None
        self._turns = 0

    def around(self, step: str, call: Callable[..., T]) -> Callable[..., T]:
        """Killed before the step, in it, or after it."""

        def run(*args: Any, **more: Any) -> T:
            if self._is_now(f"before {step}"):
                die()
            if self._delay_ms is not None and self._is_now(step):
                die_in(self._delay_ms)
            done = call(*args, **more)
            if self._is_now(f"after {step}"):
                die()
            return done

        return run

    def _is_now(self, step: str) -> bool:
        self._turns += step == self._step
        return step == self._step and self._turns == TURN


class Files(Here):
    """Killed with some of a round's files written."""

    def __init__(self, point: Point) -> None:
        self._written: Callable[[DataFile], DataFile] = point.around("file", lambda file: file)

    def __call__(self, job: Job) -> list[DataFile]:
        tasks = range(len(job.tasks))
        return [self._written(file) for number in tasks for file in run_task(job, number)]


def stop_delta(point: Point) -> None:
    kind: Any = DeltaTopicTable
    kind._commit = point.around("commit", kind._commit)


def stop_iceberg(point: Point) -> None:
    """In a commit, too: when all is written that it names, and before others are led to it."""
    from penstock.spark.tables.iceberg import catalog, table, versions  # noqa: PLC0415

    kind: Any = table.IcebergTopicTable
    kind._commit = point.around("commit", kind._commit)
    files: Any = catalog.SyncedFiles
    files.sync = point.around("sync", files.sync)
    steps = vars(versions)
    steps["sync"] = point.around("publication", steps["sync"])


def archive(address: str, topic: str, folder: str, form: TableFormat, point: Point) -> None:
    {TableFormat.DELTA: stop_delta, TableFormat.ICEBERG: stop_iceberg}[form](point)
    options = ArchiveOptions(address, topic, folder, once=True, rows_a_round=100, form=form)
    Archiver(options, Files(point)).run()


def replay(address: str, topic: str, folder: str, form: TableFormat, point: Point) -> None:
    tasks.CHUNK_ROWS = 50
    Producer.flush = point.around("flush", Producer.flush)  # type: ignore[method-assign]
    steps = vars(tasks)
    steps["commit_offsets"] = point.around("offsets", steps["commit_offsets"])
    steps["end"] = point.around("end", steps["end"])
    Replayer(ReplayOptions(address, folder, topic), tasks.Here()).run()


def main(verb: str, address: str, topic: str, folder: str, form: str, point: str) -> None:
    work = {"archive": archive, "replay": replay}[verb]
    work(address, topic, folder, TableFormat(form), Point(point))
