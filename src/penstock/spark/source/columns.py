"""Records as rows of Spark's Kafka source: its columns, made from batches straight into Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

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
from penstock.client.reader import Arrived, damaged
from penstock.errors import Malformed, Refused
from penstock.spark.source import arrays
from penstock.spark.source.sections import Section, section_of
from penstock.wire.places import Places, Runs, add_places
from penstock.wire.records import Cursor

ROWS_MAX = 20_000
BYTES_MAX = 4 << 20
"""Of one Arrow batch, as near as whole batches of records come to it."""
ENOUGH_BYTES = 1 << 20
"""For an Arrow batch, where more would have to be copied together."""
DATA_BYTES_MAX = 64 << 20
"""Of what one is gathered from: an answer may hold much besides, such as what was aborted."""

CREATE_TIME, LOG_APPEND_TIME = 0, 1

_FIELDS = [
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", arrays.TIME),
    ("timestampType", pa.int32()),
]
ARROW = pa.schema(_FIELDS)
ARROW_WITH_HEADERS = pa.schema([*_FIELDS, ("headers", pa.list_(arrays.HEADER))])

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
        self._start()

    def _start(self) -> None:
        self._places = Places(self._place.end, self._with_headers)
        self._kinds = Runs()
        """Of timestamps."""
        self._data: list[bytes] = []
        """What the places lie in, one behind the other."""
        self._data_bytes = 0

    def batches(self, arrived: Iterable[Arrived]) -> Iterator[pa.RecordBatch]:
        for each in arrived:
            with self._telling_damage(each):
                section = section_of(each)
            if self._is_enough_before(section.data):
                yield from self._taken()
            with self._telling_damage(each):
                self._add(each, section)
            if self._is_full:
                yield from self._taken()
        yield from self._taken()

    @contextmanager
    def _telling_damage(self, arrived: Arrived) -> Iterator[None]:
        try:
            yield
        except (Malformed, Refused) as error:
            raise damaged(str(self._place), arrived.header.base_offset, str(error)) from None

    def _is_enough_before(self, data: bytes) -> bool:
        """Whether data that lies elsewhere begins an Arrow batch of its own, as what is gathered
        from several places has to be copied once more."""
        is_elsewhere = bool(self._data) and data is not self._data[-1]
        return is_elsewhere and self._places.size_bytes >= ENOUGH_BYTES

    @property
    def _is_full(self) -> bool:
        places = self._places
        is_large = places.size_bytes >= self._bytes_max or self._data_bytes >= DATA_BYTES_MAX
        return places.count >= ROWS_MAX or is_large

    def _add(self, arrived: Arrived, section: Section) -> None:
        if not self._data or section.data is not self._data[-1]:
            self._data.append(section.data)
            self._data_bytes += len(section.data)
        header, before = arrived.header, self._places.count
        is_same_time = header.has_log_append_time
        add_places(
            self._places,
            Cursor(section.data, header.record_count, section.start, section.stop),
            self._data_bytes - len(section.data),
            arrived.wanted_from,
            header.base_offset,
            header.max_timestamp if is_same_time else header.base_timestamp,
            is_same_time,
        )
        if self._places.count > before:
            self._kinds.note(before, LOG_APPEND_TIME if is_same_time else CREATE_TIME)

    def _taken(self) -> Iterator[pa.RecordBatch]:
        """What is gathered, if that is anything."""
        places, kinds, data = self._places, self._kinds, self._data
        self._start()
        if not places.count:
            return
        buffer = pa.py_buffer(data[0] if len(data) == 1 else b"".join(data))
        made = [
            arrays.keys(places, buffer),
            arrays.values(places, buffer),
            pa.repeat(self._topic, places.count),
            pa.repeat(self._partition, places.count),
            arrays.offsets(places),
            arrays.times(places),
            arrays.repeated(kinds, places.count, pa.int32()),
        ]
        if self._with_headers:
            made.append(arrays.headers(places.headers))
        yield pa.record_batch(made, schema=ARROW_WITH_HEADERS if self._with_headers else ARROW)
