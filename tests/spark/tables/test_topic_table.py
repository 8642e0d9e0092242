"""A table by itself, in either format: marks that move with the files, and who is overtaken."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark.records import in_table
from tests.spark.tables.making import FIRST, ID, TIME_MS, A, B, filled, rows, span

from penstock.spark.errors import SparkError
from penstock.spark.source.columns import ARROW_WITH_HEADERS
from penstock.spark.tables.folder import DELTA_LOG, ICEBERG_LOG
from penstock.spark.tables.formats import create_table, open_table
from penstock.spark.tables.owner import Owner, check_same
from penstock.spark.tables.parquet import read_file, write_file
from penstock.spark.tables.topic_table import Overtaken, TableFormat

LOGS = {TableFormat.DELTA: DELTA_LOG, TableFormat.ICEBERG: ICEBERG_LOG}


def test_files_and_marks_come_together(tmp_path: Path, form: TableFormat) -> None:
    table = create_table(tmp_path / "t", FIRST, {A: 5, B: 0}, form=form)
    assert table.marks([A, B, (2, ID)]) == {A: 5, B: 0}
    added = filled(table, span(0, 5, 9))
    table.append([added], {A: 5}, {A: 9})
    again = open_table(tmp_path / "t")
    assert again.marks([A, B]) == {A: 9, B: 0}
    assert again.files() == [added]
    assert (added.offset_min, added.offset_max) == (5, 8)
    assert (added.time_ms_min, added.time_ms_max) == (TIME_MS + 5, TIME_MS + 8)
    assert again.owner == FIRST


def test_one_of_two_archivers_is_overtaken(tmp_path: Path, form: TableFormat) -> None:
    one = create_table(tmp_path / "t", FIRST, {A: 0}, form=form)
    other = open_table(tmp_path / "t")
    one.append([filled(one, span(0, 0, 3))], {A: 0}, {A: 3})
    with pytest.raises(Overtaken, match=r"meanwhile|partition 0 is at 3"):
        other.append([filled(other, span(0, 0, 5))], {A: 0}, {A: 5})
    with pytest.raises(Overtaken, match="partition 0 is at 3, and was at 0"):
        other.append([filled(other, span(0, 0, 5))], {A: 0}, {A: 5})
    assert open_table(tmp_path / "t").marks([A]) == {A: 3}
    assert [each.offset for each in in_table(tmp_path / "t")] == [0, 1, 2]


def test_a_partition_that_comes_later_is_had_by_one_too(tmp_path: Path, form: TableFormat) -> None:
    one = create_table(tmp_path / "t", FIRST, {A: 0}, form=form)
    other = open_table(tmp_path / "t")
    one.append([filled(one, span(1, 0, 3))], {}, {B: 3})
    with pytest.raises(Overtaken):
        other.append([filled(other, span(1, 0, 3))], {}, {B: 3})


def test_a_table_is_made_by_one(tmp_path: Path, form: TableFormat) -> None:
    create_table(tmp_path / "t", FIRST, {}, form=form)
    with pytest.raises(Overtaken, match="made by another"):
        create_table(tmp_path / "t", FIRST, {}, form=form)


def test_of_two_who_replace_the_same_file_one_is_overtaken(
    tmp_path: Path, form: TableFormat
) -> None:
    """Delta would take both, and have its records twice."""
    one = create_table(tmp_path / "t", FIRST, {A: 0}, form=form)
    added = filled(one, span(0, 0, 3))
    one.append([added], {A: 0}, {A: 3})
    other = open_table(tmp_path / "t")
    one.replace([added], [filled(one, span(0, 0, 3))], same=True)
    with pytest.raises(Overtaken):
        other.replace([added], [filled(other, span(0, 0, 3))], same=True)
    assert len(open_table(tmp_path / "t").files()) == 1


def test_archiving_goes_on_while_files_are_replaced(tmp_path: Path, form: TableFormat) -> None:
    one = create_table(tmp_path / "t", FIRST, {A: 0}, form=form)
    added = filled(one, span(0, 0, 3))
    one.append([added], {A: 0}, {A: 3})
    other = open_table(tmp_path / "t")
    one.append([filled(one, span(0, 3, 6))], {A: 3}, {A: 6})
    other.replace([added], [filled(other, span(0, 0, 3))], same=True)
    one.append([filled(one, span(0, 6, 9))], {A: 6}, {A: 9})
    found = open_table(tmp_path / "t")
    assert [(each.first, each.end) for each in found.files()] == [(0, 3), (3, 6), (6, 9)]
    assert found.marks([A]) == {A: 9}


def test_a_stretch_without_records_is_a_file_too(tmp_path: Path, form: TableFormat) -> None:
    table = create_table(tmp_path / "t", FIRST, {A: 0}, form=form)
    empty = write_file(table.folder, span(0, 0, 4), [], table.columns)
    table.append([empty], {A: 0}, {A: 4})
    (found,) = open_table(tmp_path / "t").files()
    assert (found.first, found.end, found.rows, found.offset_min) == (0, 4, 0, None)
    assert list(read_file(table.folder, found, span(0, 0, 4), ["value"])) == []


def test_rows_are_read_by_their_offsets(tmp_path: Path, form: TableFormat) -> None:
    table = create_table(tmp_path / "t", FIRST, {A: 0}, form=form)
    file = write_file(table.folder, span(0, 0, 20), [rows(0, 10), rows(10, 20)])
    found = read_file(table.folder, file, span(0, 7, 13), ARROW_WITH_HEADERS.names)
    offsets = [at for batch in found for at in batch.column("offset").to_pylist()]
    assert offsets == [*range(7, 13)]


def test_a_folder_with_other_things_in_it_becomes_no_table(
    tmp_path: Path, form: TableFormat
) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    with pytest.raises(SparkError, match="has photos in it"):
        create_table(tmp_path, FIRST, {}, form=form)
    write_file(tmp_path / "t", span(0, 0, 4), [])
    (tmp_path / "t" / LOGS[form]).mkdir()
    assert create_table(tmp_path / "t", FIRST, {}, form=form).files() == []


def test_a_write_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def breaking() -> list[object]:
        raise RuntimeError("the task was cut off")

    with pytest.raises(RuntimeError):
        write_file(tmp_path, span(0, 0, 5), (each for each in breaking()))
    assert list(tmp_path.rglob("*.parquet")) == []


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (FIRST._replace(topic="other"), "the table of topic orders, not of other"),
        (FIRST._replace(topic_id="cd"), "deleted, and made anew since"),
        (FIRST._replace(topic_id="cd", cluster_id="x"), "in cluster here, and this is cluster x"),
    ],
)
def test_a_table_belongs_to_one_topic(found: Owner, said: str) -> None:
    with pytest.raises(SparkError, match=said):
        check_same("t", FIRST, found)


def test_what_was_deleted_is_noted_beside_the_marks(tmp_path: Path, form: TableFormat) -> None:
    table = create_table(tmp_path / "t", FIRST, {A: 0, B: 0}, form=form)
    table.append([filled(table, span(0, 0, 3))], {A: 0}, {A: 3})
    table.note_deleted({A: 2})
    again = open_table(tmp_path / "t")
    assert (again.deleted([A, B]), again.marks([A, B])) == ({A: 2}, {A: 3, B: 0})
    assert len(again.files()) == 1


def test_where_there_is_no_table_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(SparkError, match="there is no table"):
        open_table(tmp_path / "nowhere")
    with pytest.raises(SparkError, match="give a path"):
        open_table("s3://bucket/t")


def test_a_folder_has_one_table(tmp_path: Path, form: TableFormat) -> None:
    create_table(tmp_path / "t", FIRST, {A: 0}, form=form)
    (other,) = set(TableFormat) - {form}
    with pytest.raises(SparkError, match=f"has {LOGS[form]} in it"):
        create_table(tmp_path / "t", FIRST, {A: 0}, form=other)
    create_table(tmp_path / "other", FIRST, {A: 0}, form=other)
    (tmp_path / "other" / LOGS[other]).rename(tmp_path / "t" / LOGS[other])
    with pytest.raises(SparkError, match="a Delta table and an Iceberg table"):
        open_table(tmp_path / "t")
