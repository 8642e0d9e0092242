"""Tables without a topic."""

from __future__ import annotations

import pyarrow as pa

from penstock.spark.source.columns import ARROW_WITH_HEADERS
from penstock.spark.tables.files import DataFile, Stretch
from penstock.spark.tables.owner import Owner
from penstock.spark.tables.parquet import write_file
from penstock.spark.tables.topic_table import TopicTable

ID = "ab" * 16
FIRST = Owner("orders", ID, "here")
A, B = (0, ID), (1, ID)
"""Partitions 0 and 1."""
TIME_MS = 1_700_000_000_000


def rows(first: int, end: int, partition: int = 0, time_ms: int | None = None) -> pa.RecordBatch:
    count = end - first
    stamps = [TIME_MS + at if time_ms is None else time_ms for at in range(first, end)]
    made = {
        "key": [b"key %d" % at for at in range(first, end)],
        "value": [b"value %d" % at for at in range(first, end)],
        "topic": ["orders"] * count,
        "partition": [partition] * count,
        "offset": [*range(first, end)],
        "timestamp": pa.array(stamps, pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC")),
        "timestampType": [0] * count,
        "headers": [None] * count,
    }
    return pa.record_batch(made, schema=ARROW_WITH_HEADERS)


def span(partition: int, first: int, end: int) -> Stretch:
    return Stretch(partition, first, end, ID)


def filled(table: TopicTable, stretch: Stretch) -> DataFile:
    held = rows(stretch.first, stretch.end, stretch.partition)
    return write_file(table.folder, stretch, [held], table.columns)
