"""The checker for very many: topics and tables as streams of Arrow batches, compared message by
message, without an object for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from tests.spark.records import wait_for_markers

from penstock.client.cluster import WireClient
from penstock.client.offsets import EARLIEST, LATEST, ends
from penstock.client.ranges import Gap, Range, RangeReader
from penstock.spark.source.columns import ARROW_WITH_HEADERS, Rows

COPIED = ["key", "value", "partition", "timestamp", "timestampType", "headers"]
"""What a copy has in common with its topic: it has a name and offsets of its own."""
Batches = Iterable[pa.RecordBatch]


def check_round_trip(client: WireClient, topic: str, folder: Path, copy: str) -> int:
    """That a topic, its table and what was replayed of that are equal, each partition from its
    first message to its last; how many there are."""
    client.forget()
    wait_for_markers(client, copy)
    count = 0
    for index in client.topic(topic).partitions:
        check_equal(in_topic(client, topic, index), in_table(folder, index))
        archived = (each.select(COPIED) for each in in_table(folder, index))
        replayed = (each.select(COPIED) for each in in_topic(client, copy, index))
        count += check_equal(archived, replayed)
    return count


def in_topic(client: WireClient, topic: str, index: int) -> Iterator[pa.RecordBatch]:
    """All that is committed in a partition."""
    (start,) = ends(client, topic, [index], EARLIEST).values()
    (end,) = ends(client, topic, [index], LATEST, committed=True).values()
    place = Range(topic, client.topic(topic).log_id_of(index), index, start, end)
    return Rows(place, with_headers=True).batches(RangeReader(client, _in_vain).batches(place))


def in_table(folder: Path, index: int) -> Iterator[pa.RecordBatch]:
    """What the Delta log names, read by others' code alone; files are named by their offsets."""
    paths = sorted(each.removeprefix("file://") for each in DeltaTable(folder).file_uris())
    for path in paths:
        if Path(path).parent.name.startswith(f"p{index:05}"):
            with pq.ParquetFile(path) as opened:
                for batch in opened.iter_batches():
                    yield batch.cast(ARROW_WITH_HEADERS)


def check_equal(one: Batches, other: Batches) -> int:
    """How many rows there are; the first that differs is told."""
    left, right = _Stream(one), _Stream(other)
    count = 0
    while (size := min(left.waiting, right.waiting)) > 0:
        some, same = left.take(size), right.take(size)
        if not some.equals(same):
            at = _first_difference(some, same)
            raise AssertionError(f"row {count + at}: {_told(some, at)}, and {_told(same, at)}")
        count += size
    for each in (left, right):
        if each.waiting:
            raise AssertionError(f"row {count} is in one alone: {_told(each.take(1), 0)}")
    return count


class _Stream:
    """Gives as many rows at a time as are asked for, however they come."""

    def __init__(self, batches: Batches) -> None:
        self._batches = iter(batches)
        self._rest: pa.RecordBatch | None = None

    @property
    def waiting(self) -> int:
        """Rows that can be taken; none only at the end."""
        while self._rest is None or not self._rest.num_rows:
            self._rest = next(self._batches, None)
            if self._rest is None:
                return 0
        return int(self._rest.num_rows)

    def take(self, size: int) -> pa.RecordBatch:
        assert self._rest is not None
        taken, self._rest = self._rest.slice(0, size), self._rest.slice(size)
        return taken


def _first_difference(one: pa.RecordBatch, other: pa.RecordBatch) -> int:
    """Of two that differ: halved until one row is left."""
    low, high = 0, one.num_rows
    while high - low > 1:
        middle = (low + high) // 2
        if one.slice(low, middle - low).equals(other.slice(low, middle - low)):
            low = middle
        else:
            high = middle
    return low


def _told(batch: pa.RecordBatch, at: int) -> str:
    return str(batch.slice(at, 1).to_pylist()[0])


def _in_vain(gap: Gap) -> None:
    raise AssertionError(gap)
