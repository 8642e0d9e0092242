"""What only a Delta table can meet with."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from tests.spark.tables.making import FIRST, A, filled, rows, span

from penstock.spark.errors import SparkError
from penstock.spark.source.columns import ARROW_WITH_HEADERS
from penstock.spark.tables.formats import create_table, open_table
from penstock.spark.tables.parquet import write_file


def test_marks_outlive_a_checkpoint_of_the_log(tmp_path: Path) -> None:
    table = create_table(tmp_path / "t", FIRST, {A: 0})
    table.append([filled(table, span(0, 0, 3))], {A: 0}, {A: 3})
    DeltaTable(table.folder).create_checkpoint()
    (table.folder / "_delta_log" / f"{0:020}.json").unlink()
    again = open_table(tmp_path / "t")
    assert again.marks([A]) == {A: 3}
    assert again.owner == FIRST
    assert again.files() == table.files()


@pytest.mark.parametrize("time_ms", [260_000_000_000_000, -63_000_000_000_000])
def test_times_beyond_the_calendar_are_kept_without_bounds(tmp_path: Path, time_ms: int) -> None:
    table = create_table(tmp_path / "t", FIRST, {A: 0})
    far = write_file(table.folder, span(0, 0, 1), [rows(0, 1, time_ms=time_ms)])
    table.append([far], {A: 0}, {A: 1})
    (found,) = open_table(tmp_path / "t").files()
    assert found.time_ms_max is None


def test_tables_of_others_are_refused(tmp_path: Path) -> None:
    DeltaTable.create(tmp_path / "t", ARROW_WITH_HEADERS)
    with pytest.raises(SparkError, match="not one of `penstock pipeline archive`"):
        open_table(tmp_path / "t")


def test_a_table_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    table = create_table(tmp_path / "t", FIRST, {})
    raw = DeltaTable(table.folder)
    raw.alter.set_table_properties({"penstock.format": "2"}, raise_if_not_exists=False)
    with pytest.raises(SparkError, match="format 2, and this release knows 1"):
        open_table(tmp_path / "t")
