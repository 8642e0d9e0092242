"""Files as Iceberg's manifests tell of them: with bounds, by which readers choose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.conversions import from_bytes, to_bytes
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, FileFormat, ManifestContent, ManifestFile
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType, LongType, PrimitiveType, TimestamptzType

from penstock.spark.errors import SparkError
from penstock.spark.tables.files import DataFile, stretch_of
from penstock.spark.tables.iceberg.catalog import location_of, path_of
from penstock.spark.tables.iceberg.columns import number_of

_BOUNDED: dict[str, PrimitiveType] = {
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestamptzType(),
}
_TIME_US = range(-(2**63), 2**63)


def to_iceberg(root: Path, file: DataFile, columns: pa.Schema) -> IcebergFile:
    numbers = {name: number_of(columns, name) for name in _BOUNDED}
    low, high = _bounds(file)
    made = IcebergFile.from_args(
        content=DataFileContent.DATA,
        file_path=location_of(root / file.path),
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=file.rows,
        file_size_in_bytes=file.size_bytes,
        value_counts=dict.fromkeys(numbers.values(), file.rows),
        null_value_counts=dict.fromkeys(numbers.values(), 0),
        lower_bounds={numbers[name]: to_bytes(_BOUNDED[name], at) for name, at in low.items()},
        upper_bounds={numbers[name]: to_bytes(_BOUNDED[name], at) for name, at in high.items()},
    )
    made.spec_id = 0
    return made


def _bounds(file: DataFile) -> tuple[dict[str, Any], dict[str, Any]]:
    if not file.rows:
        return {}, {}
    low: dict[str, Any] = {"partition": file.partition, "offset": file.offset_min}
    high: dict[str, Any] = {"partition": file.partition, "offset": file.offset_max}
    early_us, late_us = (file.time_ms_min or 0) * 1000, (file.time_ms_max or 0) * 1000
    if early_us in _TIME_US and late_us in _TIME_US:
        low["timestamp"], high["timestamp"] = early_us, late_us
    return low, high


def from_iceberg(root: Path, told: IcebergFile, columns: pa.Schema) -> DataFile:
    path = within(root, told.file_path)
    stretch = stretch_of(path)
    early_us, late_us = (_at(each, columns, "timestamp") for each in (_low(told), _high(told)))
    return DataFile(
        path,
        *stretch[:3],
        told.record_count,
        told.file_size_in_bytes,
        _at(_low(told), columns, "offset"),
        _at(_high(told), columns, "offset"),
        None if early_us is None else early_us // 1000,
        None if late_us is None else late_us // 1000,
        stretch.log_id,
    )


def within(root: Path, location: str) -> str:
    """Its path in the folder, or the whole of it for what lies elsewhere."""
    return str(path_of(location)).removeprefix(f"{root}/")


def _low(told: IcebergFile) -> dict[int, bytes]:
    return told.lower_bounds or {}


def _high(told: IcebergFile) -> dict[int, bytes]:
    return told.upper_bounds or {}


def _at(bounds: dict[int, bytes], columns: pa.Schema, name: str) -> int | None:
    told = bounds.get(number_of(columns, name))
    return None if told is None else int(from_bytes(_BOUNDED[name], told))


def current_files(metadata: TableMetadata, io: FileIO) -> Iterator[IcebergFile]:
    snapshot = metadata.current_snapshot()
    return iter(()) if snapshot is None else files_of(snapshot.manifests(io), io)


def files_of(manifests: Iterable[ManifestFile], io: FileIO) -> Iterator[IcebergFile]:
    for manifest in manifests:
        if manifest.content != ManifestContent.DATA:
            raise SparkError(
                "rows of the table were deleted by another program, which history and replay "
                "cannot read; archive into a new folder"
            )
        for entry in manifest.fetch_manifest_entry(io, discard_deleted=True):
            yield entry.data_file
