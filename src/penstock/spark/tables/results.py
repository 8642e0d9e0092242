"""Results of queries as Delta tables, each batch in it exactly once.

A commit carries an application transaction: the query and the number of its batch. A batch that
Spark runs again, because it did not hear of its end, is found there and not added again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction
from pyspark.sql import DataFrame, SparkSession

from penstock.spark.errors import SparkError, behind
from penstock.spark.tables.folder import DELTA_LOG, local_folder, sync_log, writing_to
from penstock.spark.tables.keys import Keys
from penstock.spark.tables.result_files import (
    ResultFile,
    read_results,
    rest_of,
    taken_along,
    write_results,
)

_TRIES = 5
_MERGES = "penstock/merges"
"""The application that takes rows out of files: of two at once, one is refused."""

Mode = Literal["append", "overwrite"]
_FILE = ("path", "num_records", "size_bytes")


class Batch(NamedTuple):
    """Of which query, and its number."""

    query: str
    number: int


class Change(NamedTuple):
    """What one commit does to a table, besides noting its batch."""

    come: Sequence[ResultFile]
    gone: Sequence[RemoveAction]
    mode: Mode
    marks: Sequence[Transaction]


class ResultTable:
    def __init__(self, folder: str | Path, schema: pa.Schema) -> None:
        """Made if it is not there. Columns of another kind are refused."""
        self.folder = local_folder(folder)
        self._arrow = schema
        self._schema = Schema.from_arrow(schema)
        self._table = self._opened() or self._made()
        self._check_schema()

    def has(self, batch: Batch) -> bool:
        done = self._table.transaction_version(batch.query)
        if done is not None and done > batch.number:
            raise behind(f"{self.folder}: batch {batch.number} of query {batch.query}", done)
        return done == batch.number

    def append(self, files: Sequence[ResultFile], batch: Batch) -> bool:
        return bool(files) and self._add(files, batch, "append")

    def replace(self, files: Sequence[ResultFile], batch: Batch) -> bool:
        """All that was in it goes."""
        return self._add(files, batch, "overwrite")

    def merge(self, files: Sequence[ResultFile], keys: Sequence[str], batch: Batch) -> bool:
        """Rows with the same keys take the place of those that are there."""
        if not files:
            return False
        rows = read_results(self.folder, files)
        known = Keys(rows, keys)
        if known.count < rows.num_rows:
            raise SparkError(
                f"{self.folder}: batch {batch.number} has rows with the same keys "
                f"({', '.join(keys)}), and only one can take its place: group by them"
            )
        is_new = self._commit(lambda: self._merged(rows, known), batch)
        self.discard(files)
        return is_new

    def _merged(self, rows: pa.Table, keys: Keys) -> Change:
        """The rows, and what is left of files that had some in their place, in a file that is on
        the disk before the table names it."""
        gone = taken_along(self.folder, self._files(), keys)
        whole = chain(rest_of(self.folder, gone, keys), rows.to_batches())
        same = (each.select(self._arrow.names).cast(self._arrow) for each in whole)
        come = write_results(self.folder, same, is_staged=False)
        now_ms = time.time_ns() // 1_000_000
        turn = (self._table.transaction_version(_MERGES) or 0) + 1
        removals = [RemoveAction(each.path, True, now_ms, each.size_bytes, {}) for each in gone]
        return Change(
            [come] if come else [], removals, "append", [Transaction(_MERGES, turn, now_ms)]
        )

    def discard(self, files: Iterable[ResultFile]) -> None:
        """Files that are no part of the table."""
        for each in files:
            (self.folder / each.path).unlink(missing_ok=True)

    def _add(self, files: Sequence[ResultFile], batch: Batch, mode: Mode) -> bool:
        """Whether it is in the table by this call."""
        is_new = self._commit(lambda: Change(files, [], mode, []), batch)
        if not is_new:
            self.discard(files)
        return is_new

    def _commit(self, change: Callable[[], Change], batch: Batch) -> bool:
        """Others may write to the table at the same time; whoever loses looks, and tries again."""
        for left in reversed(range(_TRIES)):
            if self.has(batch):
                return False
            try:
                with writing_to(self.folder):
                    self._write(change(), batch)
            except CommitFailedError as error:
                self._table.update_incremental()
                if not left:
                    raise SparkError(f"{self.folder}: others write to it: {error}") from None
                continue
            except DeltaError as error:
                raise SparkError(f"{self.folder}: {error}") from None
            break
        return True

    def _write(self, change: Change, batch: Batch) -> None:
        begun_s, now_ms = time.time(), time.time_ns() // 1_000_000
        mark = Transaction(batch.query, batch.number, now_ms)
        self._table.create_write_transaction(
            [*(_added(each, now_ms) for each in change.come), *change.gone],
            change.mode,
            self._schema,
            commit_properties=CommitProperties(app_transactions=[mark, *change.marks]),
        )
        self._table.update_incremental()
        sync_log(self.folder, begun_s)

    def _files(self) -> list[ResultFile]:
        told = pa.table(self._table.get_add_actions(flatten=True)).to_pylist()
        return [ResultFile(*(each[name] for name in _FILE)) for each in told]

    def _opened(self) -> DeltaTable | None:
        if not (self.folder / DELTA_LOG).is_dir():
            return None
        try:
            return DeltaTable(self.folder)
        except TableNotFoundError:
            return None

    def _made(self) -> DeltaTable:
        with writing_to(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                made = DeltaTable.create(self.folder, self._schema, mode="error")
            except DeltaError as error:
                found = self._opened()
                if found is None:
                    raise SparkError(f"{self.folder}: {error}") from None
                return found
            sync_log(self.folder, 0)
            return made

    def _check_schema(self) -> None:
        there, new = _columns(self._table.schema()), _columns(self._schema)
        if there != new:
            raise SparkError(
                f"the table in {self.folder} has other columns ({_text(there)}) than the result "
                f"({_text(new)}): give another folder"
            )


def read_table(spark: SparkSession, folder: str | Path) -> DataFrame:
    """A Delta table as it is now: the files that its log names, and no others."""
    root = local_folder(folder)
    try:
        table = DeltaTable(root)
    except TableNotFoundError:
        raise SparkError(f"there is no Delta table in {folder}") from None
    files = [unquote(each) for each in table.file_uris()]
    if files:
        return spark.read.parquet(*files)
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415

    return spark.createDataFrame([], from_arrow_schema(pa.schema(table.schema().to_arrow())))


def _added(file: ResultFile, now_ms: int) -> AddAction:
    told = json.dumps({"numRecords": file.rows})
    return AddAction(file.path, file.size_bytes, {}, now_ms, True, told)


def _columns(schema: Schema) -> dict[str, str]:
    return {field.name: str(field.type) for field in schema.fields}


def _text(columns: Mapping[str, str]) -> str:
    return ", ".join(columns)
