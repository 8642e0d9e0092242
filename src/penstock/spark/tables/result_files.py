"""Files of a query's results: written whole and synced before anybody is told of them."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.spark.tables.bounded import bounded_batches
from penstock.spark.tables.folder import sync, writing_to
from penstock.spark.tables.keys import Keys

STAGING = "_staging"
"""Below the table, for rows that are merged into it; underscores keep them out of its sight."""
SMALL_BYTES = 4 << 20
"""A file of less is written anew with the next merge, so that there are never many of them."""


class ResultFile(NamedTuple):
    path: str
    """Within the table's folder."""
    rows: int
    size_bytes: int


def write_results(
    folder: Path, batches: Iterator[pa.RecordBatch], *, is_staged: bool
) -> ResultFile | None:
    """A file of its own, synced; no part of the table yet. None if there are no rows."""
    full = (batch for batch in batches if batch.num_rows)
    first = next(full, None)
    if first is None:
        return None
    relative = f"{STAGING if is_staged else 'data'}/{secrets.token_hex(16)}.parquet"
    with writing_to(folder):
        (folder / relative).parent.mkdir(parents=True, exist_ok=True)
        writer = pq.ParquetWriter(folder / relative, first.schema, compression="zstd")
    try:
        rows = _write(folder, writer, chain([first], full))
        with writing_to(folder):
            return ResultFile(relative, rows, _finish(writer, folder, folder / relative))
    except BaseException:
        with contextlib.suppress(Exception):
            writer.close()
        (folder / relative).unlink(missing_ok=True)
        raise


def _write(folder: Path, writer: pq.ParquetWriter, batches: Iterable[pa.RecordBatch]) -> int:
    rows = 0
    for batch in batches:
        with writing_to(folder):
            writer.write_batch(batch)
        rows += batch.num_rows
    return rows


def _finish(writer: pq.ParquetWriter, folder: Path, path: Path) -> int:
    """On the disk for good, with the names that lead to it."""
    writer.close()
    sync(path)
    sync(path.parent)
    sync(folder)
    return path.stat().st_size


def read_results(folder: Path, files: Iterable[ResultFile]) -> pa.Table:
    return pa.concat_tables([pq.read_table(folder / each.path) for each in files])


def taken_along(folder: Path, files: Sequence[ResultFile], keys: Keys) -> list[ResultFile]:
    """Those that a merge writes anew: they have rows with these keys, or they are small."""
    return [each for each in files if each.size_bytes < SMALL_BYTES or _has_any(folder, each, keys)]


def _has_any(folder: Path, file: ResultFile, keys: Keys) -> bool:
    batches = _batches(folder, file, keys.names)
    return any(pc.any(keys.among(batch)).as_py() for batch in batches)


def rest_of(folder: Path, files: Iterable[ResultFile], keys: Keys) -> Iterator[pa.RecordBatch]:
    """Their rows that have other keys."""
    for each in files:
        for batch in _batches(folder, each):
            yield batch.filter(pc.invert(keys.among(batch)))


def _batches(
    folder: Path, file: ResultFile, names: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(folder / file.path) as opened:
        yield from bounded_batches(opened, range(opened.num_row_groups), names)
