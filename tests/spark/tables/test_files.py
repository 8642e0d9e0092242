"""Names of files, and which of them have what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spark.errors import SparkError
from penstock.spark.tables.files import (
    DataFile,
    Stretch,
    firsts,
    missing,
    new_path,
    picked,
    stretch_of,
)


def file(partition: int, first: int, end: int) -> DataFile:
    path = new_path(Stretch(partition, first, end))
    return DataFile(path, partition, first, end, end - first, 100)


def test_a_name_says_what_a_file_covers() -> None:
    stretch = Stretch(3, 17, 42, "ab" * 16)
    path = new_path(stretch)
    assert stretch_of(path) == stretch
    assert path != new_path(stretch)
    assert str(Stretch(3, 17, 42)) == "offsets 17 to 41 of partition 3"


@pytest.mark.parametrize("path", ["part-00000-1c9b.snappy.parquet", "p00000/1-2-ab.parquet"])
def test_a_file_of_another_program_is_named(path: str) -> None:
    with pytest.raises(SparkError, match="no archive has written"):
        stretch_of(path)


def test_files_are_picked_by_what_they_cover() -> None:
    files = [file(0, 20, 30), file(1, 0, 50), file(0, 0, 10), file(0, 10, 20)]
    assert [each.first for each in picked(files, Stretch(0, 9, 20))] == [0, 10]
    assert [each.first for each in picked(files, Stretch(0, 10, 21))] == [10, 20]
    assert picked(files, Stretch(2, 0, 100)) == []
    assert firsts(files) == {(0, ""): 0, (1, ""): 0}


def test_a_partition_that_came_again_is_another() -> None:
    files = [file(0, 0, 10), file(0, 5, 15)._replace(log_id="ab")]
    assert picked(files, Stretch(0, 0, 20, "ab")) == files[1:]
    assert missing(files, Stretch(0, 0, 20, "ab")) == [
        Stretch(0, 0, 5, "ab"),
        Stretch(0, 15, 20, "ab"),
    ]
    assert firsts(files) == {(0, ""): 0, (0, "ab"): 5}


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 10)), max_size=8), st.integers(0, 40))
def test_what_is_missing_and_what_is_covered_are_the_whole(
    spans: list[tuple[int, int]], first: int
) -> None:
    files = [file(0, begin, begin + size) for begin, size in spans]
    wanted = Stretch(0, first, first + 15)
    gone = [at for each in missing(files, wanted) for at in range(each.first, each.end)]
    there = {at for each in files for at in range(each.first, each.end)}
    assert gone == [at for at in range(first, first + 15) if at not in there]
