"""A topic as a table: what lies between two bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from penstock.spark.connected import Connected
from penstock.spark.source.bounds import Bounds, check_starts
from penstock.spark.source.options import SourceOptions
from penstock.spark.source.ranges import into_tasks, ranges_between
from penstock.spark.source.reading import Ranges, read_rows
from penstock.spark.workers import keep_modules_out_of_collections


class BatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        with Connected(self._options.bootstrap, self._options.timeout_s).another() as client:
            bounds = Bounds(client, self._options)
            start, end = bounds.starting(), bounds.ending()
        if self._options.fail_on_data_loss:
            check_starts(start, end)
        tasks = into_tasks(ranges_between(start, end), self._options)
        return [Ranges(each) for each in tasks] or [Ranges([])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Ranges)
        keep_modules_out_of_collections()
        return read_rows(self._options, partition.ranges)
