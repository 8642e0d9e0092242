"""Keeping a table in shape: small files into large ones, old ones out, orphans away.

deltalake's own compaction knows nothing of partitions and the order of offsets, so there is one
here. Files are only ever taken whole, and only neighbours without a seam between them become one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from penstock.spark.tables.files import DataFile, Lane, Stretch
from penstock.spark.tables.parquet import read_file, write_file
from penstock.spark.tables.topic_table import Overtaken, TopicTable

SMALL_BYTES = 64 << 20
TARGET_BYTES = 256 << 20
WEEK_MS = 7 * 86_400_000
_ATTEMPTS = 5


class Compacted(NamedTuple):
    before: int
    after: int
    """How many files; the same where there was nothing to do."""


def runs(files: Sequence[DataFile], small_bytes: int, target_bytes: int) -> list[list[DataFile]]:
    """Neighbours that become one file: small ones, up to the target's size together."""
    found: list[list[DataFile]] = []
    run: list[DataFile] = []
    for each in sorted(files, key=lambda file: (file.lane, file.first)):
        if run and not _joins(run, each, small_bytes, target_bytes):
            found.append(run)
            run = []
        if each.size_bytes < small_bytes:
            run.append(each)
    found.append(run)
    return [each for each in found if len(each) > 1]


def _joins(run: list[DataFile], each: DataFile, small_bytes: int, target_bytes: int) -> bool:
    last = run[-1]
    is_next = (each.lane, each.first) == (last.lane, last.end)
    size_bytes = sum(file.size_bytes for file in run) + each.size_bytes
    return is_next and each.size_bytes < small_bytes and size_bytes <= target_bytes


def compact(
    table: TopicTable, small_bytes: int = SMALL_BYTES, target_bytes: int = TARGET_BYTES
) -> Compacted:
    """Archiving may go on meanwhile. If another compaction is faster, it is done again."""
    for attempt in range(_ATTEMPTS):
        table.refresh()
        files = table.files()
        found = runs(files, small_bytes, target_bytes)
        come = [_joined(table, run) for run in found]
        gone = [file for run in found for file in run]
        try:
            if found:
                table.replace(gone, come, same=True)
        except Overtaken:
            if attempt == _ATTEMPTS - 1:
                raise
            continue
        return Compacted(len(files), len(files) - len(gone) + len(come))
    raise AssertionError("the last attempt returns or raises")


def _joined(table: TopicTable, run: list[DataFile]) -> DataFile:
    stretch = Stretch(run[0].partition, run[0].first, run[-1].end, run[0].log_id)
    return write_file(table.folder, stretch, _rows(table, run), table.columns)


def _rows(table: TopicTable, run: list[DataFile]) -> Iterator[pa.RecordBatch]:
    for file in run:
        whole = Stretch(file.partition, file.first, file.end, file.log_id)
        yield from read_file(table.folder, file, whole, table.columns.names, table.columns)


def expire(table: TopicTable, before_ms: int) -> list[DataFile]:
    """Drops files all of whose records are older, from the first of each partition on: what is
    left has no hole. The files themselves go with a vacuum, later."""
    table.refresh()
    gone = expired(table.files(), before_ms)
    if gone:
        table.replace(gone, [], same=False)
    return gone


def expired(files: Sequence[DataFile], before_ms: int) -> list[DataFile]:
    found: list[DataFile] = []
    kept: set[Lane] = set()
    for each in sorted(files, key=lambda file: (file.lane, file.first)):
        is_old = not each.rows or (each.time_ms_max is not None and each.time_ms_max < before_ms)
        if is_old and each.lane not in kept:
            found.append(each)
        else:
            kept.add(each.lane)
    return found


def expire_deleted(table: TopicTable) -> list[DataFile]:
    """Drops files all of whose records were deleted from the topic by DeleteRecords."""
    table.refresh()
    files = table.files()
    deleted = table.deleted({each.lane for each in files})
    gone = [each for each in files if each.end <= deleted.get(each.lane, 0)]
    if gone:
        table.replace(gone, [], same=False)
    return gone


def expire_older_than(table: TopicTable, age_ms: int) -> list[DataFile]:
    return expire(table, time.time_ns() // 1_000_000 - age_ms)
