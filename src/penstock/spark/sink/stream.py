"""A stream into topics: `df.writeStream.format("penstock")`, each batch exactly once.

Spark runs a batch again if the driver dies before it has noted its end, and may tell the sink to
abort one that it has committed. So what was decided about a batch is asked first, always.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from penstock.client.cluster import WireClient
from penstock.spark.connected import Connected
from penstock.spark.errors import SparkError
from penstock.spark.sink.options import SinkOptions
from penstock.spark.sink.orphans import look_for_orphans
from penstock.spark.sink.settlement import Settlement
from penstock.spark.sink.writing import Share, Written, write_share

QUERY, BATCH, RUN = "sql.streaming.queryId", "streaming.sql.batchId", "spark.jobGroup.id"
"""Under which names Spark tells tasks what they belong to."""


class StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        share = _share()
        return Written(share, write_share(self._options, share, iterator))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        written = [each for each in messages if isinstance(each, Written)]
        if not written or not self._options.is_exactly_once:
            return
        offered = [each.transaction for each in written if each.transaction]
        with Connected(self._options.bootstrap, self._options.timeout_s).again() as client:
            self._settlement(client, written[0].share).commit(batchId, offered)
            look_for_orphans(client, self._options.orphan_timeout_ms)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Tasks say of which query they are. Where none has come to its end, as when a query is
        stopped, its checkpoint does; where that cannot be read, the next run aborts what is open.
        """
        if not self._options.is_exactly_once:
            return
        shares = (each.share for each in messages if isinstance(each, Written))
        share = next(shares, None) or _share_in(self._options.checkpoint, batchId)
        if share is None:
            return
        with Connected(self._options.bootstrap, self._options.timeout_s).again() as client:
            self._settlement(client, share).abort(batchId, messages.count(None))

    def _settlement(self, client: WireClient, share: Share) -> Settlement:
        return Settlement(client, share.query, share.run)


def _share_in(checkpoint: str | None, batch: int) -> Share | None:
    """Of the query that Spark has noted there."""
    if checkpoint is None:
        return None
    try:
        noted = json.loads((Path(checkpoint.removeprefix("file://")) / "metadata").read_bytes())
        return Share(noted["id"], f"abort-{uuid4()}", batch, may_be_decided=True)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _share() -> Share:
    context = TaskContext.get()
    if context is None:
        raise SparkError("a stream is written by Spark's tasks only")
    query, batch, run = (context.getLocalProperty(each) for each in (QUERY, BATCH, RUN))
    if not (query and batch and run):
        raise SparkError(f"Spark does not tell its tasks which batch they write ({QUERY}, {BATCH})")
    return Share(query, run, int(batch), may_be_decided=True)
