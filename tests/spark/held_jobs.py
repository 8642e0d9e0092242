"""The connector's own tasks and commits, with places in them where they can be killed.

A job is known by its name, which its table or topic has, too. `HOLDS` says where it stops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import InputPartition, WriterCommitMessage
from pyspark.sql.types import StructType
from tests.spark.holding import beside

from penstock.spark.archive.spark_job import ArchiveReader, ArchiveSource
from penstock.spark.replay import tasks as replaying
from penstock.spark.replay.spark_job import ReplayReader, ReplaySource
from penstock.spark.replay.tasks import Job as ReplayJob
from penstock.spark.tables import parquet, results
from penstock.spark.tables.delta import table as delta
from penstock.spark.tables.delta.table import DeltaTopicTable
from penstock.spark.tables.files import DataFile
from penstock.spark.tables.folder import sync_log
from penstock.spark.tables.parquet import FileWriter
from penstock.spark.tables.results import Batch
from penstock.spark.tables.results_sink import TableSink, TableStreamWriter, TableWriter, Wrote

BEFORE, IN, AFTER = "before", "in", "after"
"""The commit of a table."""
EXECUTOR, BROKER, DRIVER = "executor", "broker", "driver"
"""In a task: whom the test kills meanwhile."""
HOLDS = {
    "archive": (EXECUTOR, BROKER, IN),
    "archive-before": (BEFORE,),
    "archive-after": (AFTER,),
    "replay": (EXECUTOR, BROKER, DRIVER),
    "table": (EXECUTOR, BROKER, IN),
    "table-before": (BEFORE,),
    "table-after": (AFTER,),
    "update": (EXECUTOR, BROKER, IN),
    "update-before": (BEFORE,),
    "update-after": (AFTER,),
    "sink": ("after-sending", "before-the-ends", "after-the-ends"),
    "sink-before": ("before-the-decision",),
    "sink-in": ("before-the-ends",),
}
ONLY = 1
"""The batch, counted from 0, in which something stops."""


def place(name: str, where: str) -> str:
    return f"{name}-{where}"


def stop_in_task(folder: Path, name: str) -> None:
    """One after the other: who is killed is followed by another who stops at the next."""
    wheres = [each for each in HOLDS.get(name, ()) if each in (EXECUTOR, BROKER, DRIVER)]
    beside(folder).in_turn(*(place(name, each) for each in wheres))


def stop_in_commit(folder: Path, where: str) -> None:
    if where in HOLDS.get(folder.name, ()):
        beside(folder).here(place(folder.name, where))


# An archive


class HeldFileWriter(FileWriter):
    """Stops with some of its file written; not in the first round."""

    def finish(self) -> DataFile:
        folder = self._path.parent.parent
        if self._stretch.first:
            self._write_group()
            stop_in_task(folder, folder.name)
        return super().finish()


class HeldArchiveReader(ArchiveReader):
    def read(self, partition: InputPartition) -> Iterator[tuple[object, ...]]:
        parquet.FileWriter = HeldFileWriter  # type: ignore[misc]
        return super().read(partition)


class HeldArchive(ArchiveSource):
    reads = HeldArchiveReader


def hold_archives() -> None:
    """In this process, in the second round of each."""
    rounds: dict[Path, int] = {}
    commit = DeltaTopicTable._commit

    def here(folder: Path, where: str) -> None:
        if rounds.get(folder) == ONLY:
            stop_in_commit(folder, where)

    def held_commit(table: DeltaTopicTable, *given: Any) -> None:
        rounds[table.folder] = rounds.get(table.folder, -1) + 1
        here(table.folder, BEFORE)
        commit(table, *given)
        here(table.folder, AFTER)

    def held_sync(folder: Path, since_s: float) -> None:
        here(folder, IN)
        sync_log(folder, since_s)

    DeltaTopicTable._commit = held_commit  # type: ignore[method-assign, assignment]
    vars(delta)["sync_log"] = held_sync


# A replay


class HeldReplayReader(ReplayReader):
    """Stops between the records of a transaction and its end, in the first partition."""

    def read(self, partition: InputPartition) -> Iterator[tuple[object, ...]]:
        job = ReplayJob.from_json(self._job)
        commit = vars(replaying)["commit_offsets"]

        def held(*given: Any) -> None:
            stop_in_task(Path(job.folder), job.target)
            commit(*given)

        replaying.CHUNK_ROWS = 50
        if job.shares[partition.value].partition == 0:
            vars(replaying)["commit_offsets"] = held
        try:
            yield from super().read(partition)
        finally:
            vars(replaying)["commit_offsets"] = commit


class HeldReplay(ReplaySource):
    reads = HeldReplayReader


# Tables of results


class Holding:
    """What jobs and streams have in common; `_options` is theirs."""

    _options: Any

    def _stopping(self, iterator: Iterator[pa.RecordBatch], batch: int) -> Iterator[pa.RecordBatch]:
        """With the rows of a batch in a file that is not whole."""
        yield from iterator
        folder = Path(self._options.folder)
        if batch == ONLY:
            stop_in_task(folder, folder.name)

    def _around(self, batch: int, commit: Callable[[], None]) -> None:
        folder = Path(self._options.folder)

        def here(where: str) -> None:
            if batch == ONLY:
                stop_in_commit(folder, where)

        def held_sync(given: Path, since_s: float) -> None:
            here(IN)
            sync_log(given, since_s)

        here(BEFORE)
        vars(results)["sync_log"] = held_sync
        try:
            commit()
        finally:
            vars(results)["sync_log"] = sync_log
        here(AFTER)


class HeldTableStream(Holding, TableStreamWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> Wrote:
        context = TaskContext.get()
        assert context is not None
        batch = int(context.getLocalProperty("streaming.sql.batchId") or -1)
        return super().write(self._stopping(iterator, batch))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        self._around(batchId, lambda: TableStreamWriter.commit(self, messages, batchId))


class HeldTableJob(Holding, TableWriter):
    @property
    def number(self) -> int:
        batch: Batch = self._batch
        return batch.number

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Wrote:
        return super().write(self._stopping(iterator, self.number))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._around(self.number, lambda: TableWriter.commit(self, messages))


class HeldTable(TableSink):
    def writer(self, schema: StructType, overwrite: bool) -> HeldTableJob:
        return HeldTableJob(self._options(schema, overwrite), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> HeldTableStream:
        return HeldTableStream(self._options(schema, overwrite), schema)
