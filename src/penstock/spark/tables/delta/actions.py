"""Files as the Delta log tells of them: with statistics, by which readers choose."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from deltalake.transaction import AddAction

from penstock.spark.tables.files import DataFile, stretch_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATES_MS = range(-62_000_000_000_000, 250_000_000_000_000)
"""From the year 5 to 9892: others cannot be written as a date."""


def add_action(file: DataFile, *, is_new: bool = True) -> AddAction:
    now_ms = time.time_ns() // 1_000_000
    return AddAction(file.path, file.size_bytes, {}, now_ms, is_new, json.dumps(_stats(file)))


def _stats(file: DataFile) -> dict[str, Any]:
    if not file.rows:
        return {"numRecords": 0}
    low: dict[str, Any] = {"partition": file.partition, "offset": file.offset_min}
    high: dict[str, Any] = {"partition": file.partition, "offset": file.offset_max}
    early_ms, late_ms = file.time_ms_min or 0, file.time_ms_max or 0
    if early_ms in _DATES_MS and late_ms in _DATES_MS:
        low["timestamp"], high["timestamp"] = _date(early_ms), _date(late_ms)
    none = {"partition": 0, "offset": 0, "timestamp": 0}
    return {"numRecords": file.rows, "minValues": low, "maxValues": high, "nullCount": none}


def _date(time_ms: int) -> str:
    moment = _EPOCH + timedelta(milliseconds=time_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


_READ = {
    "path": "path",
    "num_records": "rows",
    "size_bytes": "size_bytes",
    "min.offset": "offset_min",
    "max.offset": "offset_max",
    "min.timestamp": "time_us_min",
    "max.timestamp": "time_us_max",
}


def files_in(told: pa.Table) -> list[DataFile]:
    return [_file(each) for each in _plain(told).to_pylist()]


def _plain(told: pa.Table) -> pa.Table:
    """What we ask for, times as numbers."""
    columns = []
    for name in _READ:
        column = told.column(name)
        columns.append(column.cast(pa.int64()) if name.endswith("timestamp") else column)
    return pa.table(columns, names=list(_READ.values()))


def _file(told: Mapping[str, Any]) -> DataFile:
    early_us, late_us = told["time_us_min"], told["time_us_max"]
    stretch = stretch_of(told["path"])
    return DataFile(
        told["path"],
        *stretch[:3],
        told["rows"] or 0,
        told["size_bytes"],
        told["offset_min"],
        told["offset_max"],
        None if early_us is None else early_us // 1000,
        None if late_us is None else late_us // 1000,
        stretch.log_id,
    )
