"""The first version of a table, and whether a folder is one for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyiceberg.io.pyarrow import pyarrow_to_schema
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from penstock.spark.errors import SparkError
from penstock.spark.tables.files import Lane
from penstock.spark.tables.folder import ICEBERG_LOG, check_empty
from penstock.spark.tables.iceberg.catalog import location_of
from penstock.spark.tables.iceberg.columns import numbered
from penstock.spark.tables.iceberg.versions import is_of_versions
from penstock.spark.tables.owner import Owner
from penstock.spark.tables.topic_table import mark_name, table_properties
from penstock.spark.values.schema import ValueSchema, columns_of

PREFIX = "penstock.mark."
"""Of the properties that are marks."""
SETTINGS = {
    "commit.manifest-merge.enabled": "true",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}
"""So that what a commit costs does not grow with the number of commits."""


def first_version(
    root: Path, owner: Owner, marks: Mapping[Lane, int], values: ValueSchema | None
) -> TableMetadata:
    schema = pyarrow_to_schema(numbered(columns_of(values)))
    told = {PREFIX + mark_name(lane): str(at) for lane, at in marks.items()}
    properties = {**table_properties(owner, values), **SETTINGS, **told}
    nothing = UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER
    return new_table_metadata(schema, *nothing, location_of(root), properties)


def check_new(root: Path) -> None:
    """Other catalogs name their versions otherwise: theirs is no folder for a new table."""
    check_empty(root, ICEBERG_LOG)
    for each in (root / ICEBERG_LOG).glob("*"):
        if not is_of_versions(each.name):
            raise SparkError(f"{root} has an Iceberg table of another program: name a new folder")
