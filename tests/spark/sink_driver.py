"""A driver to be killed: each of its queries comes to a stop at a place of its own.

It copies lines into as many topics as there are places, and writes a table besides, one of whose
tasks fails at its first attempt. When all of it stands still, there is a file for each.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType
from tests.spark.holding import Held

from penstock.client.cluster import WireClient
from penstock.client.open_transaction import OpenTransaction
from penstock.spark.data_source import PenstockDataSource
from penstock.spark.session import session
from penstock.spark.sink.batch import BatchWriter
from penstock.spark.sink.entries import Entry
from penstock.spark.sink.options import sink_options
from penstock.spark.sink.settlement import Settlement
from penstock.spark.sink.stream import StreamWriter
from penstock.spark.sink.writing import Share, Written

PLACES = (
    "while-tasks-write",
    "before-the-decision",
    "before-the-ends",
    "between-the-ends",
    "after-the-ends",
)
AFTER_SENDING = "after-sending"
"""Of all rows; for rows so few that they are sent at once, at the end."""
BATCH = 1
"""In which it stops."""


class Places:
    """Of a query, at which its driver, a task or a broker may be killed."""

    def __init__(self, options: dict[str, str]) -> None:
        self._held = Held(options.pop("files"))
        self._wanted = options.pop("place").split(",")
        self._named = options.pop("named", "")

    def here(self, place: str) -> None:
        if place in self._wanted:
            self._held.here(f"{self._named}{place}")


class HeldSettlement(Settlement):
    def __init__(self, client: WireClient, share: Share, held: Places) -> None:
        super().__init__(client, share.query, share.run)
        self._held = held
        self._ended = 0

    def _decide(self, decision: Entry) -> bool:
        self._held.here("before-the-decision")
        return super()._decide(decision)

    def _commit_decided(self, opened: OpenTransaction) -> None:
        self._held.here("between-the-ends" if self._ended else "before-the-ends")
        super()._commit_decided(opened)
        self._ended += 1

    def commit(self, batch: int, offered: Any) -> None:
        super().commit(batch, offered)
        self._held.here("after-the-ends")


class HeldWriter(StreamWriter):
    def __init__(self, options: dict[str, str]) -> None:
        self._held = Places(options)
        self._task = int(options.pop("task", "1"))
        super().__init__(sink_options(options))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        written = super().write(self._stopping(iterator))
        self._here(AFTER_SENDING)
        return written

    def _stopping(self, iterator: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from iterator
        self._here("while-tasks-write")

    def _here(self, place: str) -> None:
        """In one of the batch's tasks."""
        context = TaskContext.get()
        assert context is not None
        batch = context.getLocalProperty("streaming.sql.batchId")
        if context.partitionId() == self._task and batch == str(BATCH):
            self._held.here(place)

    def _settlement(self, client: WireClient, share: Share) -> Settlement:
        if share.batch != BATCH:
            return super()._settlement(client, share)
        return HeldSettlement(client, share, self._held)


class HeldSource(PenstockDataSource):
    @classmethod
    def name(cls) -> str:
        return "held"

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        return HeldWriter(dict(self.options))


class FailingWriter(BatchWriter):
    """The second task fails after it has written, as often as it is told."""

    def __init__(self, options: dict[str, str]) -> None:
        self._attempts = int(options.pop("attempts"))
        super().__init__(sink_options(options))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return super().write(self._failing(iterator))

    def _failing(self, iterator: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from iterator
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() == 1 and context.attemptNumber() < self._attempts:
            raise RuntimeError("the disk is on fire")


class LateWriter(BatchWriter):
    """The second task fails, and the first one writes when the job is being aborted for that."""

    def __init__(self, options: dict[str, str]) -> None:
        self._aborting = Path(options.pop("aborting"))
        super().__init__(sink_options(options))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return super().write(self._late(iterator))

    def _late(self, iterator: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() == 1:
            raise RuntimeError("the disk is on fire")
        deadline = time.monotonic() + 60
        while not self._aborting.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        yield from iterator

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._aborting.touch()
        super().abort(messages)


class LateSource(PenstockDataSource):
    @classmethod
    def name(cls) -> str:
        return "late"

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        return LateWriter(dict(self.options))


class FailingSource(PenstockDataSource):
    @classmethod
    def name(cls) -> str:
        return "failing"

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        return FailingWriter(dict(self.options))


def write_late(spark: SparkSession, address: str, topic: str, aborting: Path) -> None:
    spark.dataSource.register(LateSource)
    rows = spark.range(0, 4, numPartitions=2).selectExpr("cast(id as string) value")
    given = {"bootstrapServers": address, "topic": topic, "aborting": str(aborting)}
    rows.write.format(LateSource.name()).mode("append").options(**given).save()


def write_table(spark: SparkSession, address: str, topic: str, attempts: int) -> None:
    spark.dataSource.register(FailingSource)
    numbers = spark.range(0, 200, 1, 2).selectExpr("rpad(concat('v', id, ' '), 6000, '.') value")
    writer = numbers.write.format("failing").mode("append")
    writer.options(bootstrapServers=address, topic=topic, attempts=str(attempts)).save()


def copy(
    spark: SparkSession, address: str, folder: str, target: str, sink: str, **more: str
) -> Any:
    """Two files make a batch, and each of them a task."""
    lines = spark.readStream.option("maxFilesPerTrigger", "2").text(f"{folder}/lines")
    writer = lines.selectExpr("split(value, ' ')[1] key", "value").writeStream.format(sink)
    writer.options(bootstrapServers=address, topic=target, **more)
    return writer.option("checkpointLocation", f"{folder}/checkpoint-{target}")


def main(address: str, topic: str, folder: str) -> None:
    spark = session("local[4,4]", "driver", {"spark.driver.memory": "1g"})
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(HeldSource)
    for place in PLACES:
        copy(spark, address, folder, f"{topic}-{place}", "held", files=folder, place=place).start()
    write_table(spark, address, f"{topic}-table", attempts=1)
    Path(folder, "table").touch()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
