"""A topic as a stream: micro-batches from offset to offset, exactly where a checkpoint says.

Spark plans a batch with `latestOffset`, writes its end down, and only then reads it; a batch that
failed is read again between the same offsets. When it asks for the next end, what lies before the
start it names has been written for good: that is told to the consumer group, so that lag shows.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from penstock.client.errors import ClientError
from penstock.client.group_offsets import commit_offsets
from penstock.spark.connected import Connected
from penstock.spark.errors import DataLossError
from penstock.spark.source.bounds import Bounds
from penstock.spark.source.limits import at_most, cut_at
from penstock.spark.source.offsets import Offsets
from penstock.spark.source.options import SourceOptions
from penstock.spark.source.ranges import into_tasks, ranges_between
from penstock.spark.source.reading import Ranges, read_rows
from penstock.spark.workers import keep_modules_out_of_collections

log = logging.getLogger(__name__)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._connected = Connected(options.bootstrap, options.timeout_s)
        self._ends = False
        self._last: Offsets | None = None
        """Where a query that is to end by itself ends."""
        self._told: dict[Any, int] = {}
        self._waited_since_s: float | None = None

    # Offsets, in the driver

    def initialOffset(self) -> dict[str, Any]:
        return self._bounds().starting().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        if self._options.rows_a_trigger_max:
            return ReadMaxRows(self._options.rows_a_trigger_max)
        if self._options.rows_a_trigger_min:
            return ReadMinRows(self._options.rows_a_trigger_min)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Comes before `initialOffset`, and what that finds must not lie behind the end."""
        self._ends, self._last = True, None

    def reportLatestOffset(self) -> dict[str, Any]:
        return self._latest().to_json()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        done = Offsets.from_json(start)
        self._tell_group(done)
        if self._ends and self._last is None:
            self._last = self._latest()
        latest = self._going_on(done, self._last or self._latest())
        if isinstance(limit, ReadMaxRows):
            latest = at_most(limit.max_rows, done, latest)
        if self._is_too_little(done, latest):
            return start
        return latest.to_json()

    def _latest(self) -> Offsets:
        latest = self._bounds().latest()
        return latest if self._options.stop_at is None else cut_at(self._options.stop_at, latest)

    def _bounds(self) -> Bounds:
        return Bounds(self._connected.client, self._options)

    def _going_on(self, done: Offsets, latest: Offsets) -> Offsets:
        """From where reading stands. What it stands in must be there still, and not be behind."""
        at, ids = dict(latest.at), dict(latest.ids)
        for place, offset in done.at.items():
            name = f"{place[0]}-{place[1]}"
            if ids.get(place) == done.ids[place]:
                if at[place] < offset:
                    self._lose(f"{name} ends at {at[place]}, and was read up to {offset}")
                    at[place] = offset
                continue
            left = self._bounds().left_of(place, done.ids[place])
            if left is None or (left.end > offset and place in at):
                self._lose(f"{name} as it was read up to {offset} is not there any more")
            elif not left.is_sealed:
                self._lose(f"{name} was read up to {offset}, and is not to be read any more")
            elif left.end > offset:
                at[place], ids[place] = left.end, done.ids[place]
        return Offsets(at, ids)

    def _lose(self, what: str) -> None:
        if self._options.fail_on_data_loss:
            raise DataLossError(
                f"{what}: records may be lost to this query. failOnDataLoss=false goes on with "
                "what is there"
            )
        log.warning("%s; the query goes on with what is there", what)

    def _is_too_little(self, done: Offsets, latest: Offsets) -> bool:
        """minOffsetsPerTrigger: waited for, but no longer than maxTriggerDelay."""
        least = self._options.rows_a_trigger_min
        if not least or self._ends:
            return False
        rows = sum(each.end - each.start for each in ranges_between(done, latest))
        now = time.monotonic()
        if self._waited_since_s is None:
            self._waited_since_s = now
        waited_ms = (now - self._waited_since_s) * 1000
        if rows < least and waited_ms < self._options.trigger_delay_ms_max:
            return True
        self._waited_since_s = None
        return False

    def _tell_group(self, done: Offsets) -> None:
        if not self._options.group:
            return
        news = {place: at for place, at in done.at.items() if self._told.get(place) != at}
        if not news:
            return
        try:
            commit_offsets(self._connected.client, self._options.group, news)
            self._told.update(news)
        except ClientError as error:  # the query's own checkpoint is what counts
            log.warning("progress was not committed to group %s: %s", self._options.group, error)

    # Tasks

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        ranges = ranges_between(Offsets.from_json(start), Offsets.from_json(end))
        return [Ranges(each) for each in into_tasks(ranges, self._options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Ranges)
        keep_modules_out_of_collections()
        return read_rows(self._options, partition.ranges)

    def commit(self, end: dict[str, Any]) -> None:
        """Comes a batch late, and not after the last one: `latestOffset` knows it earlier."""
