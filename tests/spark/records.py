"""The checker: records of topics, tables and what Spark reads, as the same values, to be compared
one by one and never by their count alone."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyspark.sql import DataFrame
from tests.spark.topic_reading import committed

from penstock.client import offsets
from penstock.client.cluster import WireClient
from penstock.client.open_transaction import begin, end
from penstock.client.producer import Producer

TIME_MS = time.time_ns() // 1_000_000 - 2 * 86_400_000
"""Of the first record: not so long ago that retention takes it while a test runs."""


class Seen(NamedTuple):
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: tuple[tuple[str, bytes | None], ...]


def send(client: WireClient, topic: str, numbers: range, partitions: int = 2) -> None:
    """Records of all kinds: without key, value or headers, too."""
    producer = Producer(client, topic)
    for number in numbers:
        headers = ((b"tag", b"%d" % number), (b"none", None)) if number % 3 else ()
        producer.send(
            b"value %d" % number if number % 7 else None,
            b"key %d" % number if number % 5 else None,
            headers,
            partition=number % partitions,
            timestamp_ms=TIME_MS + number,
        )
    producer.flush()


def send_in_transaction(client: WireClient, topic: str, values: list[bytes], *, ok: bool) -> None:
    opened = begin(client, f"{topic}-writer")
    producer = Producer(client, topic, transaction=opened)
    for value in values:
        producer.send(value, partition=0, timestamp_ms=TIME_MS)
    producer.flush()
    end(client, opened, is_commit=ok)
    wait_for_markers(client, topic)


def wait_for_markers(client: WireClient, topic: str) -> None:
    """A transaction is decided before its end is in every partition."""
    deadline = time.monotonic() + 30
    indexes = client.topic(topic).partitions
    while offsets.ends(client, topic, indexes, offsets.LATEST, committed=True) != offsets.ends(
        client, topic, indexes, offsets.LATEST
    ):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def in_topic(client: WireClient, topic: str) -> list[Seen]:
    """All that is committed."""
    return [
        Seen(
            index,
            each.offset,
            each.key,
            each.value,
            each.timestamp,
            tuple((name.decode(), value) for name, value in each.headers),
        )
        for index, held in sorted(committed(client, topic).items())
        for each in held
    ]


def in_table(folder: Path) -> list[Seen]:
    """What the table's log names, read by others' code alone; in the order of files and rows."""
    if (folder / "_delta_log").is_dir():
        return in_files(*DeltaTable(folder).file_uris())
    from pyiceberg.table import StaticTable  # noqa: PLC0415  # most workers need none

    return ordered(seen_in(StaticTable.from_metadata(str(folder)).scan().to_arrow()))


def in_files(*paths: str | Path) -> list[Seen]:
    """Parquet with a topic's columns."""
    return ordered([row for each in paths for row in seen_in(pq.read_table(each))])


def in_frame(rows: DataFrame) -> list[Seen]:
    """What Spark reads, with a topic's columns."""
    return ordered(seen_in(rows.toArrow()))


def ordered(rows: list[Seen]) -> list[Seen]:
    return sorted(rows, key=lambda each: (each.partition, each.offset))


def seen_in(table: pa.Table) -> list[Seen]:
    times = [each // 1000 for each in table.column("timestamp").cast(pa.int64()).to_pylist()]
    rows = table.select(["partition", "offset", "key", "value", "headers"]).to_pylist()
    return [
        Seen(
            row["partition"],
            row["offset"],
            row["key"],
            row["value"],
            time_ms,
            tuple((each["key"], each["value"]) for each in row["headers"] or ()),
        )
        for row, time_ms in zip(rows, times, strict=True)
    ]


def check_same(found: list[Seen], expected: list[Seen]) -> None:
    """Message by message; the first that differs is told."""
    for number, (one, other) in enumerate(zip(found, expected, strict=False)):
        assert one == other, f"number {number}"
    longer = max(found, expected, key=len)
    assert len(found) == len(expected), longer[min(len(found), len(expected))]


def check_copy(found: list[Seen], expected: list[Seen]) -> None:
    """The same messages in the same order in each partition, at offsets of their own."""
    check_same(without_offsets(found), without_offsets(expected))


def without_offsets(rows: list[Seen]) -> list[Seen]:
    """Of each partition in order: a copy has other offsets."""
    return [each._replace(offset=0) for each in ordered(rows)]


def unordered(rows: list[Seen]) -> list[Seen]:
    """For what has the order of nothing."""
    return sorted((each._replace(offset=0) for each in rows), key=repr)
