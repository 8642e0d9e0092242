"""`format("penstock-table")`: a query's rows into a Delta table. Tasks write files, and the driver
commits them with the query's id and the number of the batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from penstock.spark.errors import OptionError, SparkError
from penstock.spark.sink.stream import QUERY
from penstock.spark.tables.folder import local_folder
from penstock.spark.tables.result_files import ResultFile, write_results
from penstock.spark.tables.results import Batch, ResultTable


@dataclass(frozen=True)
class TableOptions:
    folder: str
    keys: tuple[str, ...]
    """By which rows are known that take the place of others."""
    is_whole: bool
    """Each batch takes the place of all that was there."""
    batch: Batch | None = None
    """Of a stream that writes each of its batches as a job of its own."""


@dataclass(frozen=True)
class Wrote(WriterCommitMessage):
    file: ResultFile | None
    query: str


class TableSink(DataSource):
    @classmethod
    def name(cls) -> str:
        return "penstock-table"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return TableWriter(self._options(schema, overwrite), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """`overwrite` stands for the output mode complete."""
        return TableStreamWriter(self._options(schema, overwrite), schema)

    def _options(self, schema: StructType, overwrite: bool) -> TableOptions:
        if not self.options.get("folder"):
            raise OptionError("option folder is missing: where the table is")
        keys = tuple(each for each in self.options.get("keys", "").split(",") if each)
        for key in keys:
            if key not in schema.names:
                there = ", ".join(schema.names)
                raise OptionError(f"option keys: there is no column {key}, only {there}")
        query, number = self.options.get("query"), self.options.get("batch")
        batch = Batch(query, int(number)) if query and number else None
        return TableOptions(self.options["folder"], keys, overwrite, batch)


class _Writing:
    """What jobs and streams have in common."""

    def __init__(self, options: TableOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        ResultTable(options.folder, arrow_schema(schema))

    def _write(self, iterator: Iterator[pa.RecordBatch]) -> ResultFile | None:
        folder = local_folder(self._options.folder)
        return write_results(folder, iterator, is_staged=bool(self._options.keys))

    def _table(self) -> ResultTable:
        return ResultTable(self._options.folder, arrow_schema(self._schema))

    def _commit(self, messages: Sequence[WriterCommitMessage | None], batch: Batch) -> None:
        files, table = _files(messages), self._table()
        if self._options.keys:
            table.merge(files, self._options.keys, batch)
        elif self._options.is_whole:
            table.replace(files, batch)
        else:
            table.append(files, batch)


class TableStreamWriter(_Writing, DataSourceStreamArrowWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> Wrote:
        context = TaskContext.get()
        query = context.getLocalProperty(QUERY) if context else None
        if not query:
            raise SparkError(f"Spark does not tell its tasks which query they write ({QUERY})")
        return Wrote(self._write(iterator), query)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        if (query := _query(messages)) is not None:
            self._commit(messages, Batch(query, batchId))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Also called where a commit took effect: then the files are part of the table."""
        query, table = _query(messages), self._table()
        if query is not None and not table.has(Batch(query, batchId)):
            table.discard(_files(messages))


class TableWriter(_Writing, DataSourceArrowWriter):
    def __init__(self, options: TableOptions, schema: StructType) -> None:
        super().__init__(options, schema)
        self._batch = options.batch or Batch(str(uuid4()), 0)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Wrote:
        return Wrote(self._write(iterator), self._batch.query)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._commit(messages, self._batch)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        table = self._table()
        if not table.has(self._batch):
            table.discard(_files(messages))


def arrow_schema(schema: StructType) -> pa.Schema:
    """Every column may be null: what a query says of that may change with Spark's plans."""
    nullable = StructType([StructField(each.name, each.dataType) for each in schema])
    return to_arrow_schema(nullable, timezone="UTC")


def _query(messages: Sequence[WriterCommitMessage | None]) -> str | None:
    return next((each.query for each in messages if isinstance(each, Wrote)), None)


def _files(messages: Sequence[WriterCommitMessage | None]) -> list[ResultFile]:
    return [each.file for each in messages if isinstance(each, Wrote) and each.file]
