"""Which tables there are, and which one a folder has.

What Iceberg needs is imported where there is such a table: it comes with an extra of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.spark.errors import SparkError
from penstock.spark.tables.delta.table import DeltaTopicTable
from penstock.spark.tables.files import Lane
from penstock.spark.tables.folder import DELTA_LOG, has_versions, local_folder
from penstock.spark.tables.iceberg.columns import numbered
from penstock.spark.tables.owner import Owner
from penstock.spark.tables.results_vacuum import is_result_table, vacuum_results
from penstock.spark.tables.topic_table import TableFormat, TopicTable
from penstock.spark.values.schema import ValueSchema, columns_of

if TYPE_CHECKING:
    from penstock.spark.tables.iceberg.table import IcebergTopicTable


def open_table(folder: str | Path) -> TopicTable:
    found = find_table(folder)
    if found is None:
        raise SparkError(
            f"there is no table in {folder}: `penstock pipeline archive TOPIC --to {folder}` "
            "makes one"
        )
    return found


def find_table(folder: str | Path) -> TopicTable | None:
    root = local_folder(folder)
    delta = DeltaTopicTable.find(root) if (root / DELTA_LOG).is_dir() else None
    if not has_versions(root):
        return delta
    if delta is not None:
        raise SparkError(
            f"{root} has a Delta table and an Iceberg table: archive into a new folder"
        )
    return _iceberg().find(root)


def create_table(
    folder: str | Path,
    owner: Owner,
    marks: Mapping[Lane, int],
    values: ValueSchema | None = None,
    form: TableFormat = TableFormat.DELTA,
) -> TopicTable:
    """With the first offset to archive of each partition that there is."""
    root = local_folder(folder)
    if form is TableFormat.ICEBERG:
        return _iceberg().create(root, owner, marks, values)
    return DeltaTopicTable.create(root, owner, marks, values)


def vacuum(folder: str | Path, older_than_ms: int, *, is_trial: bool = False) -> list[str]:
    """Of a topic's table, or of a pipeline's results."""
    root = local_folder(folder)
    if (root / DELTA_LOG).is_dir() and is_result_table(root):
        return vacuum_results(root, older_than_ms, is_trial=is_trial)
    return open_table(root).vacuum(older_than_ms, is_trial=is_trial)


def file_columns(form: TableFormat, values: ValueSchema | None) -> pa.Schema:
    """Of the files that a task writes, which needs no table for that."""
    columns = columns_of(values)
    return numbered(columns) if form is TableFormat.ICEBERG else columns


def _iceberg() -> type[IcebergTopicTable]:
    try:
        from penstock.spark.tables.iceberg.table import IcebergTopicTable  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyiceberg":
            raise
        raise SparkError(
            "Iceberg tables need pyiceberg, which is not installed: `pip install penstock[iceberg]`"
        ) from None
    return IcebergTopicTable
