"""What only an Iceberg table can meet with."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import StaticTable, Transaction
from tests.spark.records import in_table
from tests.spark.tables.making import FIRST, TIME_MS, A, B, filled, rows, span

from penstock.spark.errors import SparkError
from penstock.spark.tables.files import DataFile, is_ours
from penstock.spark.tables.formats import create_table, open_table
from penstock.spark.tables.iceberg import first_version
from penstock.spark.tables.iceberg import table as tables
from penstock.spark.tables.iceberg.catalog import FolderCatalog
from penstock.spark.tables.iceberg.table import IcebergTopicTable
from penstock.spark.tables.iceberg.versions import Versions
from penstock.spark.tables.maintenance import compact
from penstock.spark.tables.parquet import write_file
from penstock.spark.tables.topic_table import TableFormat, TopicTable
from penstock.spark.values.schema import ValueSchema

DEEP = "a TINYINT, b ARRAY<STRUCT<x: DECIMAL(5,2), y: DATE>>, c STRUCT<d: ARRAY<INT>>, e DOUBLE"


def made(folder: Path, values: ValueSchema | None = None) -> TopicTable:
    return create_table(folder, FIRST, {A: 0, B: 0}, values, TableFormat.ICEBERG)


def add(table: TopicTable, first: int, end: int) -> DataFile:
    file = filled(table, span(0, first, end))
    table.append([file], {A: first}, {A: end})
    return file


def test_columns_have_the_same_numbers_in_the_table_and_in_its_files(tmp_path: Path) -> None:
    table = made(tmp_path / "t", ValueSchema("json", DEEP))
    file = write_file(table.folder, span(0, 0, 1), [], table.columns)
    schema = StaticTable.from_metadata(str(table.folder)).schema()
    in_file = numbers(pq.read_schema(table.folder / file.path))
    assert in_file == {number: schema.find_field(number).name for number in in_file}
    assert len(in_file) == schema.highest_field_id


def numbers(fields: pa.Schema | pa.DataType) -> dict[int, str]:
    found: dict[int, str] = {}
    for each in fields:
        found[int(each.metadata[b"PARQUET:field_id"])] = each.name
        kind = each.type
        if pa.types.is_list(kind):
            found |= numbers(pa.struct([kind.value_field]))
        elif pa.types.is_struct(kind):
            found |= numbers(kind)
    return found


def test_readers_choose_files_by_their_bounds(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    add(table, 0, 3)
    add(table, 3, 6)
    scan = StaticTable.from_metadata(str(table.folder)).scan("offset = 4")
    assert len(list(scan.plan_files())) == 1
    assert scan.to_arrow().column("value").to_pylist() == [b"value 4"]


@pytest.mark.parametrize("time_ms", [9_000_000_000_000_000, -63_000_000_000_000])
def test_times_beyond_the_calendar_have_bounds(tmp_path: Path, time_ms: int) -> None:
    table = made(tmp_path / "t")
    far = write_file(table.folder, span(0, 0, 1), [rows(0, 1, time_ms=time_ms)], table.columns)
    table.append([far], {A: 0}, {A: 1})
    assert open_table(table.folder).files() == [far]
    assert far.time_ms_max == time_ms


def test_a_commit_costs_the_same_however_many_there_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "SNAPSHOTS_MAX", 3)
    settings = {
        "write.metadata.previous-versions-max": "2",
        "commit.manifest.min-count-to-merge": "4",
    }
    monkeypatch.setattr(first_version, "SETTINGS", {**first_version.SETTINGS, **settings})
    table = made(tmp_path / "t")
    for at in range(12):
        add(table, at, at + 1)
    found = StaticTable.from_metadata(str(table.folder))
    snapshot = found.current_snapshot()
    assert snapshot is not None
    assert len(found.snapshots()) == 3
    assert len(snapshot.manifests(found.io)) < 8
    assert sorted(Versions(table.folder).all()) == [11, 12, 13]
    assert [each.offset for each in in_table(table.folder)] == [*range(12)]
    assert (table.marks([A]), len(table.files())) == ({A: 12}, 12)


def test_a_vacuum_leaves_what_was_replaced_just_now(tmp_path: Path) -> None:
    """Its files may be old, and somebody may be reading them."""
    table = made(tmp_path / "t")
    old = [add(table, 0, 3), add(table, 3, 6)]
    for each in old:
        os.utime(table.folder / each.path, (0, 0))
    compact(table)
    assert [each for each in table.vacuum(3_600_000) if is_ours(each)] == []
    gone = table.vacuum(0)
    assert {each.path for each in old} < set(gone)
    assert all((table.folder / each.path).exists() for each in table.files())
    assert table.vacuum(0, is_trial=True) == []
    assert [each.offset for each in in_table(table.folder)] == [*range(6)]
    add(table, 6, 9)
    assert open_table(table.folder).marks([A]) == {A: 9}


def test_a_vacuum_leaves_what_a_tag_is_at(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    add(table, 0, 3)
    found = FolderCatalog(Versions(table.folder)).newest()
    assert found is not None
    snapshot = found.current_snapshot()
    assert snapshot is not None
    found.manage_snapshots().create_tag(snapshot.snapshot_id, "kept").commit()
    table.refresh()
    add(table, 3, 6)
    compact(table)
    table.vacuum(0)
    tagged = StaticTable.from_metadata(str(table.folder)).scan().use_ref("kept")
    assert tagged.to_arrow().column("offset").to_pylist() == [0, 1, 2]


def test_a_table_that_was_moved_says_so(tmp_path: Path) -> None:
    made(tmp_path / "t")
    (tmp_path / "t").rename(tmp_path / "elsewhere")
    with pytest.raises(SparkError, match=r"was moved here from .*/t, and Iceberg names"):
        open_table(tmp_path / "elsewhere")
    (tmp_path / "t").symlink_to(tmp_path / "elsewhere")
    assert open_table(tmp_path / "elsewhere").files() == []


@pytest.mark.parametrize("name", ["with space", "100%", "with;", "größe"])
def test_folders_may_have_any_name(tmp_path: Path, name: str) -> None:
    table = made(tmp_path / name)
    add(table, 0, 3)
    assert len(in_table(tmp_path / name)) == 3


def test_a_folder_that_iceberg_cannot_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SparkError, match="without # and"):
        made(tmp_path / "which?")
    assert not (tmp_path / "which?").exists()


def test_tables_of_other_programs_are_refused(tmp_path: Path) -> None:
    log = tmp_path / "t" / "metadata"
    log.mkdir(parents=True)
    foreign = log / "00000-a.metadata.json"
    foreign.touch()
    with pytest.raises(SparkError, match="of another program"):
        made(tmp_path / "t")
    assert [*log.iterdir()] == [foreign]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"penstock.format": "2"}, "format 2, and this release knows 1"),
        ({"penstock.format": None}, "not one of `penstock pipeline archive`"),
    ],
)
def test_tables_that_are_not_known_are_refused(
    tmp_path: Path, change: dict[str, str | None], said: str
) -> None:
    made(tmp_path / "t")
    found = FolderCatalog(Versions(tmp_path / "t")).newest()
    assert found is not None
    with found.transaction() as transaction:
        for name, value in change.items():
            if value is None:
                transaction.remove_properties(name)
            else:
                transaction.set_properties({name: value})
    with pytest.raises(SparkError, match=said):
        open_table(tmp_path / "t")


def test_a_commit_goes_on_after_others_unless_they_did_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between looking and publishing, another archives another partition, and a third compacts."""
    one, other = made(tmp_path / "t"), open_table(tmp_path / "t")
    meanwhile: list[Callable[[], object]] = [
        lambda: other.append([filled(other, span(1, 0, 3))], {B: 0}, {B: 3}),
        lambda: other.note_deleted({A: 1}),
    ]
    stage = IcebergTopicTable._transaction

    def interrupted(self: IcebergTopicTable, change: tables.Change) -> Transaction:
        staged = stage(self, change)
        if self is one and meanwhile:
            meanwhile.pop(0)()
        return staged

    monkeypatch.setattr(IcebergTopicTable, "_transaction", interrupted)
    add(one, 0, 3)
    found = open_table(tmp_path / "t")
    assert (found.marks([A, B]), found.deleted([A])) == ({A: 3, B: 3}, {A: 1})
    assert [(each.partition, each.offset) for each in in_table(tmp_path / "t")] == [
        (partition, at) for partition in (0, 1) for at in range(3)
    ]
    assert found.vacuum(0, is_trial=True) == found.vacuum(0)
    assert min(each.time_ms_min or 0 for each in found.files()) == TIME_MS
