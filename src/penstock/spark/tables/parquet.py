"""Records in Parquet files: written whole and synced before anybody is told of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.spark.source.columns import ARROW_WITH_HEADERS
from penstock.spark.tables.bounded import bounded_batches
from penstock.spark.tables.files import DataFile, Stretch, new_path
from penstock.spark.tables.folder import sync, writing_to

ROW_GROUP_BYTES = 64 << 20
"""Before compression."""
_REPEATED = ["topic", "partition", "timestampType"]
"""Columns that a dictionary makes smaller; payloads it only makes slower."""


class FileWriter:
    """One file, row group by row group. What is written is no part of a table by itself."""

    def __init__(self, folder: Path, stretch: Stretch, columns: pa.Schema) -> None:
        self._stretch = stretch
        self._columns = columns
        self._relative = new_path(stretch)
        self._path = folder / self._relative
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._writer = pq.ParquetWriter(
            self._path,
            columns,
            compression="zstd",
            compression_level=1,
            use_dictionary=_REPEATED,
            write_statistics=["partition", "offset", "timestamp"],
        )
        self._gathered: list[pa.RecordBatch] = []
        self._gathered_bytes = 0
        self._rows = 0
        self._offsets: tuple[int, int] | None = None
        self._times_us: tuple[int, int] | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        if batch.schema != self._columns:
            batch = batch.cast(self._columns)
        self._gathered.append(batch)
        self._gathered_bytes += batch.nbytes
        self._rows += batch.num_rows
        self._offsets = _wider(self._offsets, batch.column("offset"))
        self._times_us = _wider(self._times_us, batch.column("timestamp").cast(pa.int64()))
        if self._gathered_bytes >= ROW_GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        table = pa.Table.from_batches(self._gathered, self._columns)
        self._gathered, self._gathered_bytes = [], 0
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))

    def finish(self) -> DataFile:
        """On the disk for good, with the name that leads to it."""
        if self._gathered:
            self._write_group()
        self._writer.close()
        sync(self._path)
        sync(self._path.parent)
        sync(self._path.parent.parent)
        low, high = self._offsets or (None, None)
        early_us, late_us = self._times_us or (None, None)
        return DataFile(
            self._relative,
            *self._stretch[:3],
            self._rows,
            self._path.stat().st_size,
            low,
            high,
            None if early_us is None else early_us // 1000,
            None if late_us is None else late_us // 1000,
            self._stretch.log_id,
        )

    def give_up(self) -> None:
        """Nothing is left of it, unless that fails too."""
        with contextlib.suppress(Exception):
            self._writer.close()
        self._path.unlink(missing_ok=True)


def write_file(
    folder: Path,
    stretch: Stretch,
    batches: Iterable[pa.RecordBatch],
    columns: pa.Schema = ARROW_WITH_HEADERS,
) -> DataFile:
    with writing_to(folder):
        writer = FileWriter(folder, stretch, columns)
    try:
        for batch in batches:
            with writing_to(folder):
                writer.add(batch)
        with writing_to(folder):
            return writer.finish()
    except BaseException:
        writer.give_up()
        raise


def read_file(
    folder: Path,
    file: DataFile,
    wanted: Stretch,
    columns: list[str],
    all_columns: pa.Schema = ARROW_WITH_HEADERS,
) -> Iterator[pa.RecordBatch]:
    """The rows of a stretch, in the order of their offsets."""
    if not file.rows:
        return
    with pq.ParquetFile(folder / file.path) as opened:
        groups = [
            each
            for each in range(opened.num_row_groups)
            if _may_have(opened.metadata.row_group(each), wanted)
        ]
        names = list(dict.fromkeys([*columns, "offset"]))
        schema = pa.schema([all_columns.field(name) for name in columns])
        for batch in bounded_batches(opened, groups, names):
            kept = _within(batch, wanted)
            if kept.num_rows:
                yield kept.select(columns).cast(schema)


def _may_have(group: pq.RowGroupMetaData, wanted: Stretch) -> bool:
    at = ARROW_WITH_HEADERS.get_field_index("offset")
    known = group.column(at).statistics
    if known is None or not known.has_min_max:
        return True
    return bool(known.min < wanted.end and known.max >= wanted.first)


def _within(batch: pa.RecordBatch, wanted: Stretch) -> pa.RecordBatch:
    offsets = batch.column("offset")
    if batch.num_rows and wanted.first <= offsets[0].as_py() and offsets[-1].as_py() < wanted.end:
        return batch
    late = pc.greater_equal(offsets, wanted.first)
    return batch.filter(pc.and_(late, pc.less(offsets, wanted.end)))


def _wider(known: tuple[int, int] | None, column: pa.Array) -> tuple[int, int] | None:
    if not len(column):
        return known
    found = pc.min_max(column).as_py()
    if known is None:
        return found["min"], found["max"]
    return min(known[0], found["min"]), max(known[1], found["max"])
