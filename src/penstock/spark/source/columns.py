"""Records as rows of Spark's Kafka source: its columns, made from batches straight into Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from penstock.client.ranges import Range
from penstock.client.reader import UNCOMPRESSED_BYTES_MAX, Arrived, damaged
from penstock.errors import Malformed, Refused
from penstock.wire.batch_builder import near_base, records_of
from penstock.wire.records import Columns, Headers, add_columns

ROWS_MAX = 20_000
BYTES_MAX = 16 << 20
"""Of one Arrow batch, as near as whole batches of records come to it."""

CREATE_TIME, LOG_APPEND_TIME = 0, 1
_TIME_MS_MAX = (2**63 - 1) // 1000

_HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
_FIELDS = [
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", pa.timestamp("us", tz="UTC")),
    ("timestampType", pa.int32()),
]
ARROW = pa.schema(_FIELDS)
ARROW_WITH_HEADERS = pa.schema([*_FIELDS, ("headers", pa.list_(_HEADER))])

SPARK = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
    ]
)
_SPARK_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
SPARK_WITH_HEADERS = StructType([*SPARK, StructField("headers", ArrayType(_SPARK_HEADER))])


class Rows:
    """Gathers the records of one range; gives them as Arrow batches of bounded size."""

    def __init__(self, place: Range, *, with_headers: bool, bytes_max: int = BYTES_MAX) -> None:
        self._place = place
        self._bytes_max = bytes_max
        self._with_headers = with_headers
        self._topic = pa.scalar(place.topic, pa.string())
        self._partition = pa.scalar(place.partition, pa.int32())
        self._columns = Columns()
        self._kinds: list[tuple[int, int]] = []
        """Kinds of timestamps, and of how many rows each."""

    def batches(self, arrived: Iterable[Arrived]) -> Iterator[pa.RecordBatch]:
        for each in arrived:
            self._add(each)
            if self._is_full:
                yield self._taken()
        if self._columns.offsets:
            yield self._taken()

    @property
    def _is_full(self) -> bool:
        columns = self._columns
        return len(columns.offsets) >= ROWS_MAX or columns.size_bytes >= self._bytes_max

    def _add(self, arrived: Arrived) -> None:
        header, before = arrived.header, len(self._columns.offsets)
        base_timestamp, beyond = near_base(header.base_timestamp)
        try:
            add_columns(
                self._columns,
                records_of(arrived.data, UNCOMPRESSED_BYTES_MAX),
                header.record_count,
                header.base_offset,
                base_timestamp,
                arrived.wanted_from,
                self._place.end,
                self._with_headers,
            )
        except (Malformed, Refused) as error:
            raise damaged(str(self._place), header.base_offset, str(error)) from None
        count = len(self._columns.offsets) - before
        if header.has_log_append_time:
            self._columns.timestamps[before:] = [header.max_timestamp] * count
        elif beyond:
            told = self._columns.timestamps[before:]
            self._columns.timestamps[before:] = [each + beyond for each in told]
        self._note_kind(LOG_APPEND_TIME if header.has_log_append_time else CREATE_TIME, count)

    def _note_kind(self, kind: int, count: int) -> None:
        if self._kinds and self._kinds[-1][0] == kind:
            count += self._kinds.pop()[1]
        self._kinds.append((kind, count))

    def _taken(self) -> pa.RecordBatch:
        columns, kinds = self._columns, self._kinds
        self._columns, self._kinds = Columns(), []
        count = len(columns.offsets)
        made = [
            pa.array(columns.keys, pa.binary()),
            pa.array(columns.values, pa.binary()),
            pa.repeat(self._topic, count),
            pa.repeat(self._partition, count),
            pa.array(columns.offsets, pa.int64()),
            _microseconds(columns.timestamps),
            pa.concat_arrays([pa.repeat(pa.scalar(kind, pa.int32()), n) for kind, n in kinds]),
        ]
        if not self._with_headers:
            return pa.record_batch(made, schema=ARROW)
        return pa.record_batch([*made, _headers(columns.headers)], schema=ARROW_WITH_HEADERS)


def _microseconds(milliseconds: list[int]) -> pa.Array:
    """What is too far away to be told in microseconds becomes the farthest that is not."""
    if max(milliseconds) > _TIME_MS_MAX or min(milliseconds) < -_TIME_MS_MAX:
        milliseconds = [max(-_TIME_MS_MAX, min(_TIME_MS_MAX, each)) for each in milliseconds]
    found = pa.array(milliseconds, pa.timestamp("ms", tz="UTC"))
    return found.cast(pa.timestamp("us", tz="UTC"))


def _headers(rows: list[Headers]) -> pa.Array:
    """A record without any has null, as in Spark's Kafka source. Names are text there."""
    if not any(rows):
        return pa.nulls(len(rows), pa.list_(_HEADER))
    told = [
        [{"key": name.decode(errors="replace"), "value": value} for name, value in row] or None
        for row in rows
    ]
    return pa.array(told, pa.list_(_HEADER))
