"""Folders of tables: where they are, what is on the disk for good, and disks that are full."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from penstock.spark.errors import FolderError, SparkError
from penstock.spark.tables.files import is_ours

DELTA_LOG, ICEBERG_LOG = "_delta_log", "metadata"
"""Folders in that of a table, with what tells of its files."""
_CLOCK_S = 1.0
"""By which a file's time may be behind the clock."""
_DECORATION = re.compile(r"\x1b\[\d*m|↳")
_LONGEST = 200


def local_folder(folder: str | Path) -> Path:
    text = str(folder).removeprefix("file://")
    if "://" in text:
        raise SparkError(f"{folder}: tables are in folders that every worker sees; give a path")
    if unquote(text) != text:
        raise SparkError(
            f"{folder}: a % with two digits stands for another character to those who read tables; "
            "give a folder without"
        )
    return Path(text).absolute()


def has_versions(root: Path) -> bool:
    """Whether there is an Iceberg table that was made in a folder."""
    return any((root / ICEBERG_LOG).glob("v*.metadata.json"))


def check_empty(root: Path, log: str) -> None:
    """A table has its folder for itself. What an archive has left that was cut off may be there."""
    foreign = sorted(each.name for each in root.iterdir() if not _is_expected(each, log))
    if foreign:
        raise SparkError(f"{root} is no table, and has {foreign[0]} in it: name a new folder")


def _is_expected(entry: Path, log: str) -> bool:
    if entry.name == log:
        return True
    return entry.is_dir() and all(is_ours(f"{entry.name}/{each.name}") for each in entry.iterdir())


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """What the disk refuses is told with the folder, and what to do."""
    try:
        yield
    except OSError as error:
        raise FolderError(
            f"{folder} cannot be written to: {_cause(error)}. See to its disk, and start again: "
            "the table is as it was after its last commit, and it goes on from there"
        ) from error


def _cause(error: OSError) -> str:
    """deltalake gives no number, and the cause in the last of several lines."""
    if error.errno:
        return os.strerror(error.errno)
    lines = [_DECORATION.sub("", each).strip() for each in str(error).splitlines()]
    return next((each for each in reversed(lines) if each), type(error).__name__)[:_LONGEST]


def sync(path: Path) -> None:
    """A file, or the names in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_log(folder: Path, since_s: float) -> None:
    """What is new in a Delta table's log; deltalake leaves that to the system, and a crash of it
    might take a commit back."""
    log = folder / DELTA_LOG
    for each in log.iterdir():
        with contextlib.suppress(FileNotFoundError):
            if each.is_file() and each.stat().st_mtime >= since_s - _CLOCK_S:
                sync(each)
    sync(log)
    sync(folder)
