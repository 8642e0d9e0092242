"""Versions of a table in a folder: who is first has one, and others are led to the newest."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from penstock.spark.errors import SparkError
from penstock.spark.tables.iceberg.versions import Taken, Versions
from penstock.spark.tables.topic_table import Overtaken


@pytest.fixture
def versions(tmp_path: Path) -> Versions:
    (tmp_path / "metadata").mkdir()
    return Versions(tmp_path)


def metadata(name: str) -> TableMetadata:
    nothing = UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER
    return new_table_metadata(Schema(), *nothing, "file:///t", {"name": name})


def newest(versions: Versions) -> tuple[int, str] | None:
    found = versions.read_newest()
    return None if found is None else (found[0], found[1].properties["name"])


def test_a_version_is_of_whoever_is_first(versions: Versions) -> None:
    assert newest(versions) is None
    versions.publish(1, metadata("first"))
    versions.publish(2, metadata("second"))
    for taken in (1, 2):
        with pytest.raises(Taken):
            versions.publish(taken, metadata("late"))
    assert newest(versions) == (2, "second")
    assert sorted(each.name for each in versions.folder.iterdir()) == [
        "v1.metadata.json",
        "v2.metadata.json",
        "version-hint.text",
    ]


@pytest.mark.parametrize("hint", ["1", "9", "nonsense", None])
def test_a_hint_that_is_wrong_misleads_nobody_and_is_mended(
    versions: Versions, hint: str | None
) -> None:
    for version in (1, 2, 3):
        versions.publish(version, metadata(str(version)))
    told = versions.folder / "version-hint.text"
    told.unlink()
    if hint is not None:
        told.write_text(hint)
    assert newest(versions) == (3, "3")
    found = StaticTable.from_metadata(str(versions.folder.parent))
    assert found.properties["name"] == "3"


def test_a_number_that_is_free_again_is_no_version(
    versions: Versions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that was stopped after it had looked, while others went on and removed old ones."""
    for version in range(1, 5):
        versions.publish(version, metadata(str(version)))
    versions.path(1).unlink()
    versions.path(2).unlink()
    looks = iter([1, 4])
    monkeypatch.setattr(Versions, "newest", lambda _: next(looks))
    with pytest.raises(Overtaken, match="many times meanwhile"):
        versions.publish(2, metadata("late"))
    monkeypatch.undo()
    assert newest(versions) == (4, "4")


def test_what_is_no_metadata_is_told_with_its_name(versions: Versions) -> None:
    versions.path(1).write_text("{}")
    with pytest.raises(SparkError, match=r"v1\.metadata\.json cannot be read"):
        versions.read_newest()
