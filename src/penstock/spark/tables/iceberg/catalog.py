"""What pyiceberg asks of a catalog, for the one table of a folder."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlparse

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate, update_table_metadata

from penstock.spark.errors import SparkError
from penstock.spark.tables.folder import sync
from penstock.spark.tables.iceberg.versions import Versions, version_of

_SCHEME = "file://"


def location_of(path: Path) -> str:
    """Iceberg names files by where they are, not by where they are in the table."""
    location = f"{_SCHEME}{path}"
    if urlparse(location).path != str(path):
        raise SparkError(f"{path}: Iceberg has no name for this folder; choose one without # and ?")
    return location


def path_of(location: str) -> Path:
    return Path(location.removeprefix(_SCHEME))


class SyncedFiles(PyArrowFileIO):
    """Notes what is written, so that it is on the disk for good before a version names it."""

    def __init__(self) -> None:
        super().__init__()
        self._written: list[str] = []

    def new_output(self, location: str) -> PyArrowFile:
        self._written.append(location)
        return super().new_output(location)

    def sync(self) -> None:
        for each in self._written:
            sync(path_of(each))
        self._written.clear()


class FolderCatalog(NoopCatalog):
    def __init__(self, versions: Versions) -> None:
        super().__init__("folder")
        self._versions = versions

    def newest(self) -> Table | None:
        found = self._versions.read_newest()
        if found is None:
            return None
        version, metadata = found
        location = location_of(self._versions.path(version))
        return Table(("penstock", "table"), metadata, location, SyncedFiles(), self)

    def commit_table(
        self,
        table: Table,
        requirements: tuple[TableRequirement, ...],
        updates: tuple[TableUpdate, ...],
    ) -> CommitTableResponse:
        """As the version after the one that the changes were made for, or not at all: so there is
        nothing left to require."""
        version = (version_of(path_of(table.metadata_location).name) or 0) + 1
        before = table.metadata_location
        made = update_table_metadata(table.metadata, updates, metadata_location=before)
        if isinstance(table.io, SyncedFiles):
            table.io.sync()
        self._versions.publish(version, made)
        after = location_of(self._versions.path(version))
        return CommitTableResponse.model_construct(metadata=made, metadata_location=after)
