"""Writes the batches of a query to a table, in processes that kill themselves where they are told.

    python -m tests.spark.tables.results_worker FOLDER MODE/POINT...

Points are those of `pipeline_worker`: `before commit`, `after file`, `commit+3`. What became of
each process is written to standard output.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from tests.spark.pipeline_worker import Point

from penstock.spark.tables import results
from penstock.spark.tables.result_files import ResultFile, write_results
from penstock.spark.tables.results import Batch, ResultTable

SCHEMA = pa.schema([("name", pa.string()), ("batch", pa.int64())])
BATCHES = 6
ROWS = 10
"""Of each batch. With keys, half of them take the place of some of the batch before."""


def folder_of(folder: Path, case: str) -> Path:
    return folder / case.replace(" ", "-")


def names(number: int) -> list[str]:
    return [f"n{each}" for each in range(number * ROWS // 2, number * ROWS // 2 + ROWS)]


def expected(mode: str) -> list[tuple[str, int]]:
    whole = [(name, number) for number in range(BATCHES) for name in names(number)]
    if mode == "append":
        return sorted(whole)
    if mode == "update":
        return sorted(dict(whole).items())
    return sorted(whole[-ROWS:])


def write_batches(folder: Path, mode: str) -> None:
    """All of them, as Spark does it that has not heard of the last one's end."""
    done = ResultTable(folder, SCHEMA)._table.transaction_version("query")
    for number in range(done or 0, BATCHES):
        table = ResultTable(folder, SCHEMA)
        files, batch = written(folder, number, is_staged=mode == "update"), Batch("query", number)
        if mode == "update":
            table.merge(files, ["name"], batch)
        elif mode == "append":
            table.append(files, batch)
        elif not table.has(batch):
            table.replace(files, batch)


def written(folder: Path, number: int, *, is_staged: bool) -> list[ResultFile]:
    def rows() -> Iterator[pa.RecordBatch]:
        columns = [pa.array(names(number)), pa.array([number] * ROWS)]
        yield pa.record_batch(columns, schema=SCHEMA)

    file = write_results(folder, rows(), is_staged=is_staged)
    return [file] if file else []


def write_until_killed(folder: Path, mode: str, told: str) -> None:
    point = Point(told)
    ResultTable._write = point.around("commit", ResultTable._write)  # type: ignore[method-assign]
    steps = vars(results)
    steps["write_results"] = point.around("file", steps["write_results"])
    write_batches(folder, mode)


def main(folder: Path, *cases: str) -> None:
    """Forks: all that takes time is imported by then, and nothing of it was used."""
    for case in cases:
        process = os.fork()
        if not process:
            write_until_killed(folder_of(folder, case), *case.split("/"))
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        sys.stdout.write(f"{case}\t{code}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
