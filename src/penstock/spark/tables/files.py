"""Files of a table: each holds one stretch of one partition, and its name says which.

The files of a partition follow each other without a seam, but where records were lost before they
were archived. A stretch may have fewer records than offsets, or none: transactions that were
aborted and their markers have offsets too. So a name tells what a file covers, and not what is in
it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from typing import NamedTuple

from penstock.spark.errors import SparkError

_NAME = re.compile(
    r"p(?P<partition>\d{5,})(?:-(?P<log_id>[0-9a-f]{32}))?"
    r"/(?P<first>\d{20})-(?P<end>\d{20})-[0-9a-f]{16}\.parquet"
)

Lane = tuple[int, str]
"""The number of a partition, and what its records are known by, in hexadecimal digits: a topic that
has lost partitions, and got some again, has two of one number."""


class DataFile(NamedTuple):
    """Covers the offsets from `first` to before `end`. What it lacks, where it has no rows, is
    None."""

    path: str
    """Within the table's folder."""
    partition: int
    first: int
    end: int
    rows: int
    size_bytes: int
    offset_min: int | None = None
    offset_max: int | None = None
    time_ms_min: int | None = None
    time_ms_max: int | None = None
    log_id: str = ""

    @property
    def lane(self) -> Lane:
        return self.partition, self.log_id


class Stretch(NamedTuple):
    """Offsets of a partition, from `first` to before `end`."""

    partition: int
    first: int
    end: int
    log_id: str = ""

    @property
    def lane(self) -> Lane:
        return self.partition, self.log_id

    def __str__(self) -> str:
        return f"offsets {self.first} to {self.end - 1} of partition {self.partition}"


def new_path(stretch: Stretch) -> str:
    """No two files have the same, also if they hold the same."""
    log_id = f"-{stretch.log_id}" if stretch.log_id else ""
    span = f"{stretch.first:020}-{stretch.end:020}"
    return f"p{stretch.partition:05}{log_id}/{span}-{secrets.token_hex(8)}.parquet"


def is_ours(path: str) -> bool:
    return _NAME.fullmatch(path) is not None


def stretch_of(path: str) -> Stretch:
    found = _NAME.fullmatch(path)
    if not found:
        raise SparkError(
            f"the table has a file {path} that no archive has written: it was changed by another "
            "program, which history and replay cannot read; archive into a new folder"
        )
    partition, first, end = (int(found[name]) for name in ("partition", "first", "end"))
    return Stretch(partition, first, end, found["log_id"] or "")


def picked(files: Iterable[DataFile], wanted: Stretch) -> list[DataFile]:
    """Those with something of it, in order."""
    found = [
        each
        for each in files
        if each.lane == wanted.lane and each.first < wanted.end and each.end > wanted.first
    ]
    return sorted(found, key=lambda each: each.first)


def missing(files: Iterable[DataFile], wanted: Stretch) -> list[Stretch]:
    """What of it no file covers."""
    found = []
    at = wanted.first
    for each in picked(files, wanted):
        if each.first > at:
            found.append(wanted._replace(first=at, end=each.first))
        at = max(at, each.end)
    if at < wanted.end:
        found.append(wanted._replace(first=at))
    return found


def firsts(files: Iterable[DataFile]) -> dict[Lane, int]:
    """Where each partition begins in the table."""
    found: dict[Lane, int] = {}
    for each in files:
        found[each.lane] = min(each.first, found.get(each.lane, each.first))
    return dict(sorted(found.items()))
