"""Whoever writes results is killed at any point of it: each batch is in the table once."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
from deltalake import DeltaTable
from tests.spark.tables import results_worker
from tests.spark.tables.results_worker import expected, folder_of, write_batches
from tests.spark.worker_process import ROOT

KILLED = -signal.SIGKILL
POINTS = {"before commit": 2, "after commit": 3, "commit+0": None, "commit+3": None}
"""And how many batches are in the table then, where that is known."""
CASES = {
    **{f"{mode}/{point}": POINTS[point] for mode in ("append", "update") for point in POINTS},
    "update/after file": 2,
    "complete/before commit": 2,
    "complete/commit+3": None,
}


def in_table(folder: Path) -> list[tuple[str, int]]:
    found = [pq.read_table(each).to_pylist() for each in DeltaTable(folder).file_uris()]
    return sorted((row["name"], row["batch"]) for rows in found for row in rows)


def test_a_writer_that_is_killed_anywhere_is_followed_by_one_that_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", results_worker.__name__, str(tmp_path), *CASES]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    told = dict(line.split("\t") for line in done.stdout.splitlines())
    assert told.keys() == CASES.keys()
    for case, batches in CASES.items():
        mode, folder = case.partition("/")[0], folder_of(tmp_path, case)
        if batches is not None:
            assert int(told[case]) == KILLED, done.stderr
            assert {number for _, number in in_table(folder)} <= {*range(batches)}
            assert DeltaTable(folder).version() == batches
        write_batches(folder, mode)
        assert in_table(folder) == expected(mode), case
