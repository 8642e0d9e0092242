"""What a task of an archive does: reads its ranges, writes each to a file, tells of the files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from penstock.client.ranges import Gap, Range, RangeReader
from penstock.spark.archive.plan import stretch_of
from penstock.spark.connected import Connected
from penstock.spark.errors import DataLossError
from penstock.spark.source.columns import Rows
from penstock.spark.tables.files import DataFile
from penstock.spark.tables.formats import file_columns
from penstock.spark.tables.parquet import write_file
from penstock.spark.tables.topic_table import TableFormat
from penstock.spark.values.schema import ValueSchema

BATCH_BYTES = 4 << 20
"""Of one Arrow batch. The memory of larger ones Arrow gives back to the system each time, which has
to clear it again."""


class Job(NamedTuple):
    """One round: where from, where to, and each task's ranges."""

    bootstrap: str
    timeout_s: float
    folder: str
    tasks: list[list[Range]]
    values: ValueSchema | None = None
    """By what values are decoded."""
    form: TableFormat = TableFormat.DELTA

    def to_json(self) -> str:
        tasks = [
            [[*each[:1], each.log_id.hex(), *each[2:]] for each in task] for task in self.tasks
        ]
        return json.dumps([*self[:3], tasks, *self[4:]])

    @classmethod
    def from_json(cls, text: str) -> Job:
        bootstrap, timeout_s, folder, told, values, form = json.loads(text)
        tasks = [[_range(each) for each in task] for task in told]
        schema = ValueSchema(*values) if values else None
        return cls(bootstrap, timeout_s, folder, tasks, schema, TableFormat(form))


def _range(told: Sequence[Any]) -> Range:
    topic, log_id, *numbers = told
    return Range(topic, bytes.fromhex(log_id), *numbers)


def run_task(job: Job, number: int) -> Iterator[DataFile]:
    with Connected(job.bootstrap, job.timeout_s).again() as client:
        reader = RangeReader(client, _fail)
        columns = file_columns(job.form, job.values)
        for each in job.tasks[number]:
            gathered = Rows(each, with_headers=True, bytes_max=BATCH_BYTES)
            rows = gathered.batches(reader.batches(each))
            if job.values is not None:
                rows = job.values.decoded(rows)
            yield write_file(Path(job.folder), stretch_of(each), rows, columns)


class Runner(Protocol):
    """What runs a round's tasks."""

    @property
    def width(self) -> int:
        """How many tasks run at the same time."""

    def __call__(self, job: Job) -> list[DataFile]: ...


class Here:
    """In this process, one task after the other: for little, Spark is not needed."""

    width = 1

    def __call__(self, job: Job) -> list[DataFile]:
        return [file for number in range(len(job.tasks)) for file in run_task(job, number)]


def _fail(gap: Gap) -> None:
    """Retention came while the round was under way: the next look at the topic tells it, too."""
    raise DataLossError(f"{gap} went away while they were being archived")
