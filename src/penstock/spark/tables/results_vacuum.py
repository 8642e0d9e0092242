"""Files in a result table's folder that are in no table: replaced by a later batch, or left behind
by a driver that was killed."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from penstock.spark.tables.owner import is_owned
from penstock.spark.tables.result_files import STAGING

_OURS = re.compile(r"data/[0-9a-f]{32}\.parquet")
_HOUR_MS = 3_600_000


def is_result_table(root: Path) -> bool:
    """A Delta table of no topic."""
    try:
        return not is_owned(DeltaTable(root).metadata().configuration)
    except TableNotFoundError:
        return False


def vacuum_results(root: Path, older_than_ms: int, *, is_trial: bool = False) -> list[str]:
    """Those that have been no part of it for so long; only of ours. Which ones."""
    found = DeltaTable(root).vacuum(
        retention_hours=-(-older_than_ms // _HOUR_MS),
        dry_run=True,
        enforce_retention_duration=False,
        full=True,
    )
    replaced = (each for each in found if _OURS.fullmatch(each))
    gone = sorted([*replaced, *_left_behind(root, older_than_ms)])
    for path in [] if is_trial else gone:
        (root / path).unlink(missing_ok=True)
    return gone


def _left_behind(root: Path, older_than_ms: int) -> Iterator[str]:
    """Rows that were to be merged: never part of the table, and not looked at by its vacuum."""
    before_s = time.time() - older_than_ms / 1000
    for each in (root / STAGING).glob("*.parquet"):
        with contextlib.suppress(FileNotFoundError):
            if each.stat().st_mtime < before_s:
                yield f"{STAGING}/{each.name}"
