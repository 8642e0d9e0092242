"""A topic's table, whatever it is written as: which files are in it, and up to where each partition
is archived.

The table itself says where archiving stands. The commit that adds files moves, for each partition
that they are of, the next offset to archive (its mark). Of two who move the same marks, or replace
the same files, one is overtaken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from penstock.spark.errors import SparkError
from penstock.spark.tables.files import DataFile, Lane
from penstock.spark.tables.owner import Owner
from penstock.spark.values.schema import ValueSchema

VALUES = "penstock.values"
"""The property that has the schema of values."""


class TableFormat(StrEnum):
    DELTA = "delta"
    ICEBERG = "iceberg"


class Overtaken(SparkError):
    """Another process has changed the table meanwhile: look again."""


class TopicTable(ABC):
    """As it was when it was opened or refreshed, and after what was committed here."""

    form: ClassVar[TableFormat]
    owner: Owner

    def __init__(self, folder: Path, properties: Mapping[str, str]) -> None:
        self.folder = folder
        self.owner = Owner.of(folder, properties)
        told = properties.get(VALUES)
        self.values = ValueSchema.from_text(told) if told else None
        """By what values are decoded, for as long as there is the table."""

    @property
    @abstractmethod
    def columns(self) -> pa.Schema:
        """As they are in its files."""

    @property
    @abstractmethod
    def version(self) -> int:
        """One more with each commit."""

    @property
    @abstractmethod
    def id(self) -> str:
        """By which it is known from another that was in the same folder."""

    @abstractmethod
    def refresh(self) -> None: ...

    @abstractmethod
    def marks(self, lanes: Iterable[Lane]) -> dict[Lane, int]:
        """The next offset to archive of each partition that has one."""

    @abstractmethod
    def deleted(self, lanes: Iterable[Lane]) -> dict[Lane, int]:
        """Up to where the topic's records were deleted by DeleteRecords, where that was so. Files
        may have them still; whoever reads for the topic does not give them out."""

    @abstractmethod
    def files(self) -> list[DataFile]:
        """By partition and offset."""

    def append(
        self, files: Sequence[DataFile], before: Mapping[Lane, int], after: Mapping[Lane, int]
    ) -> None:
        """Marks move with the files, and only from where they are said to be."""
        self.check_marks(before, after)
        self._add(files, before, after)

    def check_marks(self, before: Mapping[Lane, int], after: Iterable[Lane]) -> None:
        """That nobody has moved those that are to be moved."""
        now = self.marks(after)
        if now != {lane: before[lane] for lane in after if lane in before}:
            raise Overtaken(f"another archiver writes to {self.folder}: {_moved(before, now)}")

    @abstractmethod
    def _add(
        self, files: Sequence[DataFile], before: Mapping[Lane, int], after: Mapping[Lane, int]
    ) -> None: ...

    @abstractmethod
    def note_deleted(self, marks: Mapping[Lane, int]) -> None: ...

    @abstractmethod
    def replace(self, gone: Sequence[DataFile], come: Sequence[DataFile], *, same: bool) -> None:
        """`same`: the records are those of before, in other files."""

    @abstractmethod
    def vacuum(self, older_than_ms: int, *, is_trial: bool = False) -> list[str]:
        """Removes files that no commit names, and those that were replaced so long ago; only of
        ours. Which ones, within the folder."""


def table_properties(owner: Owner, values: ValueSchema | None) -> dict[str, str]:
    return {**owner.to_properties(), **({VALUES: values.to_text()} if values else {})}


def mark_name(lane: Lane) -> str:
    index, log_id = lane
    return f"{log_id}/{index}"


def deleted_name(lane: Lane) -> str:
    return f"{mark_name(lane)}/deleted"


def _moved(before: Mapping[Lane, int], now: Mapping[Lane, int]) -> str:
    lane = next(lane for lane in {**before, **now} if before.get(lane) != now.get(lane))
    return f"partition {lane[0]} is at {now.get(lane)}, and was at {before.get(lane)}"
