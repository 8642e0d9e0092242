"""Parquet files read in batches that fit into memory, however long their rows are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.spark.source.columns import ROWS_MAX

BATCH_BYTES = 16 << 20


def bounded_batches(
    file: pq.ParquetFile, groups: Iterable[int], names: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Never of two row groups at once: by the bytes of each it is known how many rows will do."""
    for number in groups:
        group = file.metadata.row_group(number)
        bytes_a_row = group.total_byte_size // max(1, group.num_rows)
        rows = max(1, min(ROWS_MAX, BATCH_BYTES // max(1, bytes_a_row)))
        yield from file.iter_batches(rows, row_groups=[number], columns=names)
