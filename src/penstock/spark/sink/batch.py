"""A table into topics: `df.write.format("penstock").mode("append")`."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from penstock.spark.connected import Connected
from penstock.spark.sink.entries import JOB
from penstock.spark.sink.options import SinkOptions
from penstock.spark.sink.orphans import look_for_orphans
from penstock.spark.sink.settlement import JobSettlement
from penstock.spark.sink.writing import Share, Written, write_share

ONLY = 0
"""The number of a job's one batch."""


class BatchWriter(DataSourceArrowWriter):
    """Goes to the tasks, and is kept for the end of the job."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._job = f"{JOB}{uuid4()}"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        share = Share(self._job, self._job, ONLY, may_be_decided=False)
        return Written(share, write_share(self._options, share, iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        offered = [
            each.transaction for each in messages if isinstance(each, Written) and each.transaction
        ]
        if not self._options.is_exactly_once:
            return
        with Connected(self._options.bootstrap, self._options.timeout_s).again() as client:
            if offered:
                settlement = JobSettlement(client, self._job, self._job)
                settlement.commit(ONLY, offered)
                settlement.forget()
            look_for_orphans(client, self._options.orphan_timeout_ms)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        if not self._options.is_exactly_once:
            return
        connected = Connected(self._options.bootstrap, self._options.timeout_s)
        with connected.again() if any(messages) else connected.another() as client:
            settlement = JobSettlement(client, self._job, self._job)
            settlement.abort(ONLY, messages.count(None))
            settlement.forget()
