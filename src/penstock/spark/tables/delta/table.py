"""A topic's table in Delta.

Marks are application transactions. Delta refuses a commit if another one has written the same marks
since the table was read: of two archivers one is overtaken. Changes that move records between files
carry a transaction too, one for all of them, so that no two of them work on the same files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from penstock.spark.errors import SparkError
from penstock.spark.tables.delta.actions import add_action, files_in
from penstock.spark.tables.files import DataFile, Lane, is_ours
from penstock.spark.tables.folder import DELTA_LOG, check_empty, sync_log, writing_to
from penstock.spark.tables.owner import Owner
from penstock.spark.tables.topic_table import (
    Overtaken,
    TableFormat,
    TopicTable,
    deleted_name,
    mark_name,
    table_properties,
)
from penstock.spark.values.schema import ValueSchema, columns_of

_FILES = "penstock/files"
"""The application that replaces files."""


class DeltaTopicTable(TopicTable):
    form = TableFormat.DELTA

    def __init__(self, folder: Path, table: DeltaTable) -> None:
        super().__init__(folder, table.metadata().configuration)
        self._table = table
        self._known: dict[str, int | None] = {}
        """Versions of applications, as far as they were asked for in this version of the table:
        each takes a millisecond."""

    @classmethod
    def find(cls, root: Path) -> DeltaTopicTable | None:
        try:
            return cls(root, DeltaTable(root))
        except TableNotFoundError:
            return None  # a folder for a log, and no log in it: whoever made it was cut off

    @classmethod
    def create(
        cls, root: Path, owner: Owner, marks: Mapping[Lane, int], values: ValueSchema | None
    ) -> DeltaTopicTable:
        with writing_to(root):
            return cls._created(root, owner, marks, values)

    @classmethod
    def _created(
        cls, root: Path, owner: Owner, marks: Mapping[Lane, int], values: ValueSchema | None
    ) -> DeltaTopicTable:
        root.mkdir(parents=True, exist_ok=True)
        check_empty(root, DELTA_LOG)
        try:
            made = DeltaTable.create(
                root,
                Schema.from_arrow(columns_of(values)),
                mode="error",
                name=owner.topic,
                configuration=dict(table_properties(owner, values)),
                raise_if_key_not_exists=False,
                commit_properties=CommitProperties(app_transactions=_marks(marks)),
            )
        except DeltaError as error:
            if cls.find(root) is None:
                raise SparkError(f"{root}: {error}") from None
            raise Overtaken(f"{root} was made by another process just now") from None
        sync_log(root, 0)
        return cls(root, made)

    def refresh(self) -> None:
        before = self.version
        self._table.update_incremental()
        if self.version != before:
            self._known = {}
        self.owner = Owner.of(self.folder, self._table.metadata().configuration)

    @property
    def columns(self) -> pa.Schema:
        return columns_of(self.values)

    @property
    def version(self) -> int:
        return self._table.version()

    @property
    def id(self) -> str:
        return str(self._table.metadata().id)

    def marks(self, lanes: Iterable[Lane]) -> dict[Lane, int]:
        return self._versions(lanes, mark_name)

    def deleted(self, lanes: Iterable[Lane]) -> dict[Lane, int]:
        return self._versions(lanes, deleted_name)

    def _versions(self, lanes: Iterable[Lane], name: Callable[[Lane], str]) -> dict[Lane, int]:
        found: dict[Lane, int] = {}
        for lane in lanes:
            app_id = name(lane)
            if app_id not in self._known:
                self._known[app_id] = self._table.transaction_version(app_id)
            at = self._known[app_id]
            if at is not None:
                found[lane] = at
        return found

    def files(self) -> list[DataFile]:
        found = files_in(pa.table(self._table.get_add_actions(flatten=True)))
        return sorted(found, key=lambda each: (each.lane, each.first))

    def _add(
        self, files: Sequence[DataFile], before: Mapping[Lane, int], after: Mapping[Lane, int]
    ) -> None:
        known, version = self._known, self.version
        self._commit([add_action(each) for each in files], _marks(after))
        if self.version == version + 1:
            self._known = {**known, **{mark_name(lane): at for lane, at in after.items()}}

    def note_deleted(self, marks: Mapping[Lane, int]) -> None:
        self._commit([], _marks(marks, deleted_name))

    def replace(self, gone: Sequence[DataFile], come: Sequence[DataFile], *, same: bool) -> None:
        turn = (self._table.transaction_version(_FILES) or 0) + 1
        now_ms = time.time_ns() // 1_000_000
        removals = [RemoveAction(each.path, not same, now_ms, each.size_bytes, {}) for each in gone]
        additions = [add_action(each, is_new=not same) for each in come]
        self._commit([*additions, *removals], [Transaction(_FILES, turn, now_ms)])

    def vacuum(self, older_than_ms: int, *, is_trial: bool = False) -> list[str]:
        hours = -(-older_than_ms // 3_600_000)
        found = self._table.vacuum(
            retention_hours=hours, dry_run=True, enforce_retention_duration=False, full=True
        )
        gone = sorted(each for each in found if is_ours(each))
        for path in [] if is_trial else gone:
            (self.folder / path).unlink(missing_ok=True)
        return gone

    def _commit(
        self, actions: list[AddAction | RemoveAction], transactions: list[Transaction]
    ) -> None:
        with writing_to(self.folder):
            self._commit_synced(actions, CommitProperties(app_transactions=transactions))

    def _commit_synced(
        self, actions: list[AddAction | RemoveAction], properties: CommitProperties
    ) -> None:
        begun_s, before = time.time(), self.version
        try:
            self._table.create_write_transaction(
                actions,
                "append",
                Schema.from_arrow(self.columns),
                commit_properties=properties,
            )
        except CommitFailedError as error:
            self.refresh()
            if self.version == before:
                raise SparkError(f"{self.folder}: {error}") from None
            raise Overtaken(
                f"another process has changed {self.folder} meanwhile ({error})"
            ) from None
        except DeltaError as error:
            raise SparkError(f"{self.folder}: {error}") from None
        self.refresh()
        sync_log(self.folder, begun_s)


def _marks(marks: Mapping[Lane, int], name: Callable[[Lane], str] = mark_name) -> list[Transaction]:
    now_ms = time.time_ns() // 1_000_000
    return [Transaction(name(lane), at, now_ms) for lane, at in sorted(marks.items())]
