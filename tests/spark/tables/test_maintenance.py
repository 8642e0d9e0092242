"""Small files into large ones, old ones out, orphans away: and nothing else changes."""

from __future__ import annotations

from pathlib import Path

from tests.spark.records import in_table
from tests.spark.tables.making import FIRST, TIME_MS, A, B, filled, span

from penstock.spark.tables.files import DataFile, Stretch, is_ours
from penstock.spark.tables.formats import create_table
from penstock.spark.tables.maintenance import compact, expire, expire_older_than, expired, runs
from penstock.spark.tables.parquet import write_file
from penstock.spark.tables.topic_table import TableFormat, TopicTable


def file(partition: int, first: int, end: int, size_bytes: int, late_ms: int = 0) -> DataFile:
    path = f"{partition}/{first}"
    rows = end - first
    return DataFile(path, partition, first, end, rows, size_bytes, first, end - 1, 0, late_ms)


def spans(found: list[list[DataFile]]) -> list[list[tuple[int, int, int]]]:
    return [[(each.partition, each.first, each.end) for each in run] for run in found]


def test_neighbours_become_one_up_to_a_size() -> None:
    files = [file(0, at, at + 10, 40) for at in range(0, 50, 10)]
    assert spans(runs(files, 64, 100)) == [[(0, 0, 10), (0, 10, 20)], [(0, 20, 30), (0, 30, 40)]]


def test_large_files_holes_and_partitions_are_borders() -> None:
    files = [
        file(0, 0, 10, 1),
        file(0, 10, 20, 99),
        file(0, 20, 30, 1),
        file(0, 35, 40, 1),
        file(0, 40, 45, 1),
        file(1, 0, 10, 1),
    ]
    assert spans(runs(files, 64, 1000)) == [[(0, 35, 40), (0, 40, 45)]]


def empty(table: TopicTable, stretch: Stretch) -> DataFile:
    return write_file(table.folder, stretch, [], table.columns)


def archived(folder: Path, form: TableFormat) -> TopicTable:
    """Two partitions in six files, one of them empty."""
    table = create_table(folder, FIRST, {A: 0, B: 0}, form=form)
    for at in range(0, 30, 10):
        second = span(1, at, at + 10)
        files = [
            filled(table, span(0, at, at + 10)),
            empty(table, second) if at == 10 else filled(table, second),
        ]
        table.append(files, {A: at, B: at}, {A: at + 10, B: at + 10})
    return table


def test_compaction_keeps_every_record_its_order_and_the_marks(
    tmp_path: Path, form: TableFormat
) -> None:
    table = archived(tmp_path / "t", form)
    before = in_table(table.folder)
    assert compact(table) == (6, 2)
    assert in_table(table.folder) == before
    assert [(each.first, each.end) for each in table.files()] == [(0, 30), (0, 30)]
    assert table.marks([A, B]) == {A: 30, B: 30}
    assert compact(table) == (2, 2)


def test_a_vacuum_removes_orphans_and_what_was_replaced(tmp_path: Path, form: TableFormat) -> None:
    table = archived(tmp_path / "t", form)
    before = in_table(table.folder)
    orphan = table.folder / filled(table, span(0, 30, 40)).path
    foreign = table.folder / "notes.parquet"
    foreign.touch()
    replaced = {table.folder / each.path for each in table.files()}
    compact(table)
    kept = set(table.folder.rglob("*.parquet")) - replaced - {orphan}
    assert table.vacuum(3_600_000) == []
    assert len([each for each in table.vacuum(0, is_trial=True) if is_ours(each)]) == 7
    assert orphan.exists()
    table.vacuum(0)
    assert set(table.folder.rglob("*.parquet")) == kept
    assert foreign in kept
    assert in_table(table.folder) == before
    table.append([filled(table, span(0, 30, 40))], {A: 30}, {A: 40})


def test_whole_files_expire_from_the_beginning_on() -> None:
    files = [
        file(0, 0, 10, 1, late_ms=100),
        file(0, 10, 20, 1, late_ms=300),
        file(0, 20, 30, 1, late_ms=100),
        file(1, 0, 10, 1, late_ms=199),
        file(1, 10, 20, 1)._replace(time_ms_max=None),
    ]
    assert spans([expired(files, 200)]) == [[(0, 0, 10), (1, 0, 10)]]


def test_what_expired_is_gone_and_the_marks_stay(tmp_path: Path, form: TableFormat) -> None:
    table = archived(tmp_path / "t", form)
    gone = expire(table, TIME_MS + 15)
    assert sorted((each.partition, each.first) for each in gone) == [(0, 0), (1, 0), (1, 10)]
    left = [(each.partition, each.offset) for each in in_table(table.folder)]
    assert left == [(0, at) for at in range(10, 30)] + [(1, at) for at in range(20, 30)]
    assert table.marks([A, B]) == {A: 30, B: 30}
    assert len(expire_older_than(table, 0)) == 3
    assert in_table(table.folder) == []
