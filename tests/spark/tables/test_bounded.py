"""Batches of files, by their size."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.spark.tables import bounded
from penstock.spark.tables.bounded import bounded_batches

GROUPS = ([1] * 500, [20_000] * 30, [20_000, 1])
"""The lengths of the values in each row group."""


@pytest.fixture
def file(tmp_path: Path) -> pq.ParquetFile:
    schema = pa.schema([("n", pa.int64()), ("value", pa.binary())])
    number = 0
    with pq.ParquetWriter(tmp_path / "file", schema, use_dictionary=False) as writer:
        for lengths in GROUPS:
            values = [bytes(length) for length in lengths]
            numbers = [*range(number, number + len(values))]
            writer.write_table(pa.table([numbers, values], schema=schema))
            number += len(values)
    return pq.ParquetFile(tmp_path / "file")


def test_batches_of_long_rows_have_fewer_of_them(
    monkeypatch: pytest.MonkeyPatch, file: pq.ParquetFile
) -> None:
    monkeypatch.setattr(bounded, "BATCH_BYTES", 100_000)
    with file:
        found = list(bounded_batches(file, range(len(GROUPS))))
    numbers = [each for batch in found for each in batch.column("n").to_pylist()]
    assert numbers == [*range(sum(map(len, GROUPS)))]
    assert found[0].num_rows == len(GROUPS[0])
    assert max(batch.nbytes for batch in found) <= 200_000
    assert len(found) == 1 + 8 + 1


def test_only_what_is_wanted_is_read(file: pq.ParquetFile) -> None:
    with file:
        (found,) = bounded_batches(file, [2], ["n"])
    assert found.to_pydict() == {"n": [530, 531]}
