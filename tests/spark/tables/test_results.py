"""Results of queries as tables: each batch once, however often it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.transaction import AddAction

from penstock.spark.errors import SparkError
from penstock.spark.tables import folder, result_files
from penstock.spark.tables.formats import vacuum
from penstock.spark.tables.result_files import ResultFile, write_results
from penstock.spark.tables.results import Batch, ResultTable

SCHEMA = pa.schema([("name", pa.string()), ("count", pa.int64())])


@pytest.fixture
def table(tmp_path: Path) -> ResultTable:
    return ResultTable(tmp_path / "table", SCHEMA)


def written(table: ResultTable, *rows: tuple[str | None, int], staged: bool = False) -> ResultFile:
    names, counts = zip(*rows, strict=True)
    batch = pa.record_batch([pa.array(names, pa.string()), pa.array(counts)], schema=SCHEMA)
    found = write_results(table.folder, iter([batch.slice(0, 0), batch]), is_staged=staged)
    assert found is not None
    return found


def rows_of(table: ResultTable) -> list[dict[str, Any]]:
    files = DeltaTable(table.folder).file_uris()
    rows = [row for each in files for row in pq.read_table(each).to_pylist()]
    return sorted(rows, key=lambda row: (str(row["name"]), row["count"]))


def files_in(table: ResultTable) -> int:
    return len([*table.folder.rglob("*.parquet")])


def test_a_batch_that_is_written_again_is_in_the_table_once(table: ResultTable) -> None:
    assert table.append([written(table, ("a", 1))], Batch("q", 0))
    again = ResultTable(table.folder, SCHEMA)
    assert again.has(Batch("q", 0))
    assert not again.append([written(table, ("a", 1))], Batch("q", 0))
    assert files_in(table) == 1, "what was written in vain is gone"
    assert again.append([written(table, ("a", 1))], Batch("q", 1))
    assert again.append([written(table, ("a", 1))], Batch("another", 0))
    assert rows_of(table) == [{"name": "a", "count": 1}] * 3


def test_a_batch_of_a_checkpoint_that_was_put_back_is_refused(table: ResultTable) -> None:
    for number in (0, 1):
        table.append([written(table, ("a", number))], Batch("q", number))
    again = ResultTable(table.folder, SCHEMA)
    with pytest.raises(SparkError, match="batch 0 of query q comes after batch 1"):
        again.append([written(table, ("a", 7))], Batch("q", 0))
    assert not again.has(Batch("other", 0))


def test_whoever_is_overtaken_finds_the_others_batch(table: ResultTable) -> None:
    late = ResultTable(table.folder, SCHEMA)
    assert table.append([written(table, ("a", 1))], Batch("q", 0))
    assert not late.append([written(late, ("a", 1))], Batch("q", 0))
    late = ResultTable(table.folder, SCHEMA)
    assert table.append([written(table, ("b", 1))], Batch("q", 1))
    assert late.append([written(late, ("c", 1))], Batch("other", 0))
    assert [row["name"] for row in rows_of(table)] == ["a", "b", "c"]


def test_rows_with_the_same_keys_take_the_place_of_others(table: ResultTable) -> None:
    first = written(table, ("a", 1), ("b", 1), (None, 1), staged=True)
    assert table.merge([first], ["name"], Batch("q", 0))
    second = written(table, ("b", 2), (None, 2), staged=True), written(table, ("c", 2), staged=True)
    assert table.merge(second, ["name"], Batch("q", 1))
    same = written(table, ("b", 3), staged=True)
    assert not table.merge([same], ["name"], Batch("q", 1))
    assert not table.merge([], ["name"], Batch("q", 2))
    found = {row["name"]: row["count"] for row in rows_of(table)}
    assert found == {"a": 1, "b": 2, "c": 2, None: 2}
    assert not [*(table.folder / "_staging").iterdir()]


def test_rows_are_known_by_several_keys_together(table: ResultTable) -> None:
    keys = ["name", "count"]
    assert table.merge([written(table, ("a", 1), ("a", 2), staged=True)], keys, Batch("q", 0))
    assert table.merge([written(table, ("a", 2), ("b", 2), staged=True)], keys, Batch("q", 1))
    assert [(row["name"], row["count"]) for row in rows_of(table)] == [("a", 1), ("a", 2), ("b", 2)]


def test_a_whole_result_takes_the_place_of_the_one_before(table: ResultTable) -> None:
    assert table.replace([written(table, ("a", 1))], Batch("q", 0))
    assert table.replace([written(table, ("a", 2)), written(table, ("b", 1))], Batch("q", 1))
    assert not table.replace([written(table, ("a", 2))], Batch("q", 1))
    assert [row["count"] for row in rows_of(table)] == [2, 1]
    assert table.replace([], Batch("q", 2))
    assert rows_of(table) == []


def test_nothing_is_written_where_there_are_no_rows(table: ResultTable) -> None:
    version = DeltaTable(table.folder).version()
    assert write_results(table.folder, iter([]), is_staged=False) is None
    assert not table.append([], Batch("q", 0))
    assert DeltaTable(table.folder).version() == version


def test_a_table_with_other_columns_is_refused(table: ResultTable) -> None:
    with pytest.raises(SparkError, match=r"other columns \(name, count\)"):
        ResultTable(table.folder, pa.schema([("name", pa.string())]))
    with pytest.raises(SparkError, match="give a path"):
        ResultTable("s3://bucket/table", SCHEMA)
    with pytest.raises(SparkError, match="stands for another character"):
        ResultTable("/data/p%41", SCHEMA)


def test_a_merge_leaves_large_files_alone_that_have_none_of_its_rows(
    table: ResultTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_files, "SMALL_BYTES", 0)
    for number, name in enumerate("abc"):
        rows = written(table, (name, 1), (name * 2, 1), staged=True)
        assert table.merge([rows], ["name"], Batch("q", number))
    before = {*DeltaTable(table.folder).file_uris()}
    assert table.merge([written(table, ("b", 2), staged=True)], ["name"], Batch("q", 3))
    after = {*DeltaTable(table.folder).file_uris()}
    assert (len(before & after), len(after - before)) == (2, 1)
    counts = {row["name"]: row["count"] for row in rows_of(table)}
    assert counts == {"a": 1, "aa": 1, "b": 2, "bb": 1, "c": 1, "cc": 1}


def test_small_files_become_one_with_every_merge(table: ResultTable) -> None:
    for number in range(5):
        rows = written(table, (f"n{number}", number), staged=True)
        assert table.merge([rows], ["name"], Batch("q", number))
    assert len(DeltaTable(table.folder).file_uris()) == 1
    assert [row["count"] for row in rows_of(table)] == [0, 1, 2, 3, 4]


def test_what_a_commit_names_is_on_the_disk_before_it(
    table: ResultTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power loss after the commit must not leave a table with files that are empty."""
    synced: set[Path] = set()
    named: list[Path] = []
    real_sync, real_commit = folder.sync, DeltaTable.create_write_transaction

    def sync(path: Path) -> None:
        real_sync(path)
        synced.add(path)

    def commit(given: DeltaTable, actions: list[Any], *rest: Any, **more: Any) -> None:
        come = [table.folder / each.path for each in actions if isinstance(each, AddAction)]
        named.extend(come)
        assert {*come, *(each.parent for each in come), table.folder} <= synced
        real_commit(given, actions, *rest, **more)

    monkeypatch.setattr(result_files, "sync", sync)
    monkeypatch.setattr(DeltaTable, "create_write_transaction", commit)
    table.append([written(table, ("a", 1))], Batch("q", 0))
    table.merge([written(table, ("a", 2), staged=True)], ["name"], Batch("q", 1))
    table.replace([written(table, ("a", 3))], Batch("q", 2))
    assert len(named) == 3
    assert {*map(str, named)} >= {*DeltaTable(table.folder).file_uris()}


def test_two_rows_of_a_batch_cannot_take_the_same_place(table: ResultTable) -> None:
    twice = written(table, ("a", 1), ("a", 2), staged=True)
    with pytest.raises(SparkError, match="rows with the same keys"):
        table.merge([twice], ["name"], Batch("q", 0))
    assert rows_of(table) == []


def test_of_two_merges_at_once_both_count(table: ResultTable) -> None:
    """The later one is refused, looks, and merges into what there is by then."""
    assert table.merge([written(table, ("a", 1), ("b", 1), staged=True)], ["name"], Batch("q", 0))
    late = ResultTable(table.folder, SCHEMA)
    assert table.merge([written(table, ("a", 2), staged=True)], ["name"], Batch("q", 1))
    assert late.merge([written(late, ("b", 2), staged=True)], ["name"], Batch("other", 0))
    assert rows_of(table) == [{"name": "a", "count": 2}, {"name": "b", "count": 2}]


def test_a_vacuum_removes_what_was_replaced_or_left_behind_and_nothing_else(
    table: ResultTable,
) -> None:
    for number in range(5):
        table.merge([written(table, ("a", number), staged=True)], ["name"], Batch("q", number))
    left = written(table, ("b", 1), staged=True)
    written(table, ("c", 1))
    foreign = table.folder / "data" / "mine.parquet"
    foreign.touch()
    assert vacuum(table.folder, 3_600_000) == []
    would = vacuum(table.folder, 0, is_trial=True)
    assert len(would) == 6
    assert left.path in would
    assert files_in(table) == 8
    assert vacuum(table.folder, 0) == would
    assert (files_in(table), foreign.exists()) == (2, True)
    assert rows_of(table) == [{"name": "a", "count": 4}]


def test_a_vacuum_of_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SparkError, match="there is no table"):
        vacuum(tmp_path, 0)
