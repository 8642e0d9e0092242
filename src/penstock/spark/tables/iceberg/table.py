"""A topic's table in Iceberg.

Marks are properties of the table. A version of it is one file of metadata, which has the marks and
names the files: so they come together. A commit is the next version or none, so whoever is not the
first looks again whether what it rests on is as it was.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update.snapshot import ExpireSnapshots

from penstock.spark.errors import SparkError
from penstock.spark.tables.files import DataFile, Lane
from penstock.spark.tables.folder import sync, writing_to
from penstock.spark.tables.iceberg.catalog import FolderCatalog, location_of, path_of
from penstock.spark.tables.iceberg.columns import numbered
from penstock.spark.tables.iceberg.data_files import current_files, from_iceberg, to_iceberg
from penstock.spark.tables.iceberg.first_version import PREFIX, check_new, first_version
from penstock.spark.tables.iceberg.orphans import expired_snapshots, orphans
from penstock.spark.tables.iceberg.versions import Taken, Versions, version_of
from penstock.spark.tables.owner import Owner
from penstock.spark.tables.topic_table import (
    Overtaken,
    TableFormat,
    TopicTable,
    deleted_name,
    mark_name,
)
from penstock.spark.values.schema import ValueSchema, columns_of

SNAPSHOTS_MAX = 20
"""Each commit writes the metadata anew, with all of them in it, and pyiceberg copies that many
times."""
_ATTEMPTS = 50


class Change(NamedTuple):
    """What one commit does."""

    come: Sequence[DataFile] = ()
    gone: Sequence[DataFile] = ()
    marks: Mapping[str, int] = {}
    summary: Mapping[str, str] = {}
    expired: Sequence[int] = ()
    """Snapshots."""


class IcebergTopicTable(TopicTable):
    form = TableFormat.ICEBERG

    def __init__(self, folder: Path, versions: Versions, table: Table) -> None:
        super().__init__(folder, table.properties)
        self._versions = versions
        self._table = table
        self._columns = numbered(columns_of(self.values))
        self._named: dict[str, IcebergFile] | None = None
        """Files of this version by their path, once they were asked for."""
        if path_of(table.location()).resolve() != folder.resolve():
            raise SparkError(
                f"{folder} was moved here from {path_of(table.location())}, and Iceberg names "
                "files by where they were: move it back, or archive into a new folder"
            )

    @classmethod
    def find(cls, root: Path) -> IcebergTopicTable | None:
        versions = Versions(root)
        found = FolderCatalog(versions).newest()
        return None if found is None else cls(root, versions, found)

    @classmethod
    def create(
        cls, root: Path, owner: Owner, marks: Mapping[Lane, int], values: ValueSchema | None
    ) -> IcebergTopicTable:
        metadata, versions = first_version(root, owner, marks, values), Versions(root)
        with writing_to(root):
            root.mkdir(parents=True, exist_ok=True)
            if not versions.all():
                check_new(root)
            versions.folder.mkdir(exist_ok=True)
            sync(root)
            try:
                versions.publish(1, metadata)
            except Taken:
                raise Overtaken(f"{root} was made by another process just now") from None
        found = cls.find(root)
        if found is None:
            raise SparkError(f"{root}: the table was removed by another process just now")
        return found

    def refresh(self) -> None:
        version = self._versions.newest()
        if version == self.version:
            return
        found = FolderCatalog(self._versions).newest()
        if found is None or found.metadata.table_uuid != self._table.metadata.table_uuid:
            raise SparkError(f"{self.folder} is not the table any more that it was: start again")
        self._take(found)

    def _take(self, table: Table) -> None:
        self._table, self._named = table, None
        self.owner = Owner.of(self.folder, table.properties)

    @property
    def columns(self) -> pa.Schema:
        return self._columns

    @property
    def version(self) -> int:
        return version_of(path_of(self._table.metadata_location).name) or 0

    @property
    def id(self) -> str:
        return str(self._table.metadata.table_uuid)

    def marks(self, lanes: Iterable[Lane]) -> dict[Lane, int]:
        return self._numbers(lanes, mark_name)

    def deleted(self, lanes: Iterable[Lane]) -> dict[Lane, int]:
        return self._numbers(lanes, deleted_name)

    def _numbers(self, lanes: Iterable[Lane], name: Callable[[Lane], str]) -> dict[Lane, int]:
        told = self._table.properties
        found = {lane: told.get(PREFIX + name(lane)) for lane in lanes}
        return {lane: int(at) for lane, at in found.items() if at is not None}

    def files(self) -> list[DataFile]:
        found = [from_iceberg(self.folder, each, self._columns) for each in self._files().values()]
        return sorted(found, key=lambda each: (each.lane, each.first))

    def _files(self) -> dict[str, IcebergFile]:
        if self._named is None:
            found = current_files(self._table.metadata, self._table.io)
            self._named = {each.file_path: each for each in found}
        return self._named

    # Commits

    def _add(
        self, files: Sequence[DataFile], before: Mapping[Lane, int], after: Mapping[Lane, int]
    ) -> None:
        change = Change(files, marks={mark_name(lane): at for lane, at in after.items()})
        self._commit(change, lambda: self.check_marks(before, after))

    def note_deleted(self, marks: Mapping[Lane, int]) -> None:
        self._commit(Change(marks={deleted_name(lane): at for lane, at in marks.items()}))

    def replace(self, gone: Sequence[DataFile], come: Sequence[DataFile], *, same: bool) -> None:
        """Whoever reads those that go has the time until a vacuum, counted from now."""
        for each in gone:
            with contextlib.suppress(FileNotFoundError):  # then it is not in the table any more
                os.utime(self.folder / each.path)
        summary = {"penstock.same-records": "true"} if same else {}
        self._commit(Change(come, gone, summary=summary), lambda: self._check_there(gone))

    def _check_there(self, gone: Sequence[DataFile]) -> None:
        lacking = [each.path for each in gone if self._location(each) not in self._files()]
        if lacking:
            raise Overtaken(f"another process has replaced {lacking[0]} in {self.folder} meanwhile")

    def _location(self, file: DataFile) -> str:
        return location_of(self.folder / file.path)

    def _commit(self, change: Change, check: Callable[[], None] = lambda: None) -> None:
        """On the newest version, as long as `check` finds that it may be."""
        with writing_to(self.folder):
            for _ in range(_ATTEMPTS):
                check()
                try:
                    self._take(self._transaction(change).commit_transaction())
                    return
                except Taken:
                    self.refresh()
        raise Overtaken(f"other processes change {self.folder} all the time: try again")

    def _transaction(self, change: Change) -> Transaction:
        transaction = self._table.transaction()
        if change.come or change.gone:
            self._stage_files(transaction, change)
        if change.marks:
            marks = {PREFIX + name: str(at) for name, at in change.marks.items()}
            transaction.set_properties(marks)
        metadata = transaction.table_metadata
        expired = {*change.expired, *_too_many(metadata)}
        if expired := expired & {each.snapshot_id for each in metadata.snapshots}:
            ExpireSnapshots(transaction).by_ids(list(expired)).commit()
        return transaction

    def _stage_files(self, transaction: Transaction, change: Change) -> None:
        update = transaction.update_snapshot(dict(change.summary))
        with update.overwrite() if change.gone else update.merge_append() as snapshot:
            for each in change.come:
                snapshot.append_data_file(to_iceberg(self.folder, each, self._columns))
            for each in change.gone:
                snapshot.delete_data_file(self._files()[self._location(each)])

    # Vacuum

    def vacuum(self, older_than_ms: int, *, is_trial: bool = False) -> list[str]:
        """Snapshots that are so old go first: what only they name is named by nobody then."""
        self.refresh()
        before_ms = time.time_ns() // 1_000_000 - older_than_ms
        expired = expired_snapshots(self._table.metadata, before_ms)
        if expired and not is_trial:
            self._commit(Change(expired=expired))
        gone = orphans(self.folder, self._table, set(expired), before_ms)
        for path in [] if is_trial else gone:
            (self.folder / path).unlink(missing_ok=True)
        return gone


def _too_many(metadata: TableMetadata) -> list[int]:
    """The oldest, but not what a branch or a tag is at."""
    held = {each.snapshot_id for each in metadata.refs.values()}
    oldest = sorted(metadata.snapshots, key=lambda each: each.timestamp_ms)[:-SNAPSHOTS_MAX]
    return [each.snapshot_id for each in oldest if each.snapshot_id not in held]
