"""A driver on a cluster that does all the connector does, at the same time, on one topic.

    python -m tests.spark.cluster_driver MASTER ADDRESS TOPIC FOLDER JOB...

Each job stops at a place of its own (`held_jobs`), where the test kills something. Started again,
it goes on with what is left, and writes down what Spark reads of topic and table.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.spark import held_jobs, sink_driver

from penstock.spark import Pipeline, Sink, Source
from penstock.spark.archive.archiver import ArchiveOptions, Archiver
from penstock.spark.archive.spark_job import SparkJob as ArchiveJob
from penstock.spark.pipelines import running
from penstock.spark.replay.replayer import Replayer, ReplayOptions
from penstock.spark.replay.spark_job import SparkJob as ReplayJob
from penstock.spark.session import make_active, session

REPLAYED = "archived"
"""The table, which is there before."""
ROWS = "150"
"""Of a round, and of a batch."""
STARTS = 20
READ = ("topic", "table", "history")
"""What Spark reads in the end."""
KEYS = ["partition", "offset"]


class Driver:
    """Each job has a session of its own, as programs with several threads have."""

    def __init__(self, spark: SparkSession, address: str, topic: str, folder: Path) -> None:
        self._spark = spark
        self._address = address
        self._topic = topic
        self._folder = folder

    def job(self, name: str) -> Callable[[], None]:
        """The beginning of its name says what it does."""
        work = {
            "archive": self.archive,
            "replay": self.replay,
            "sink": self.sink,
            "table": self.table,
            "update": self.table,
        }
        return partial(work[name.partition("-")[0]], name)

    def archive(self, name: str) -> None:
        folder = str(self._folder / name)
        options = ArchiveOptions(
            self._address, self._topic, folder, once=True, rows_a_round=int(ROWS)
        )
        Archiver(options, ArchiveJob(self._spark.newSession)).run()

    def replay(self, name: str) -> None:
        options = ReplayOptions(self._address, str(self._folder / REPLAYED), name)
        assert Replayer(options, ReplayJob(self._spark.newSession)).run() == 0

    def sink(self, name: str) -> None:
        spark = self._spark.newSession()
        make_active(spark)
        spark.dataSource.register(sink_driver.HeldSource)
        stream = spark.readStream.format("penstock").options(
            **self._source(), startingOffsets="earliest", maxOffsetsPerTrigger=ROWS
        )
        writer = stream.load().writeStream.format("held").trigger(availableNow=True)
        writer.options(bootstrapServers=self._address, topic=name)
        writer.options(
            files=str(self._folder / "held"),
            place=",".join(held_jobs.HOLDS[name]),
            named=f"{name}-",
            task="0",
        )
        writer.option("checkpointLocation", str(self._folder / "checkpoints" / name))
        writer.start().awaitTermination()

    def table(self, name: str) -> None:
        options = {"maxOffsetsPerTrigger": ROWS, "includeHeaders": "true"}
        is_merged = name.startswith("update")
        Pipeline(
            name=name,
            sources={name.replace("-", "_"): Source(topic=self._topic, options=options)},
            sink=Sink(
                table=str(self._folder / name),
                mode="update" if is_merged else "append",
                keys=KEYS if is_merged else [],
            ),
        ).run(
            spark=self._spark.newSession(),
            once=True,
            bootstrap=self._address,
            state=self._folder / "state",
        )

    def write_down(self) -> None:
        """What Spark's tasks read, on the cluster: the topic, the table, and both as one."""
        archive = self._folder / "archive"
        whole = {**self._source(), "startingOffsets": "first", "archive": str(archive)}
        read = self._spark.read
        found = (
            read.format("penstock").options(**self._source()).load(),
            read.parquet(*DeltaTable(archive).file_uris()),
            read.format("penstock").options(**whole).load(),
        )
        for name, rows in zip(READ, found, strict=True):
            pq.write_table(rows.toArrow(), self._folder / f"{name}.parquet")

    def _source(self) -> dict[str, str]:
        return {
            "bootstrapServers": self._address,
            "subscribe": self._topic,
            "includeHeaders": "true",
        }


def run_patiently(job: Callable[[], None]) -> None:
    """Spark gives up processes that are late on a busy machine; whoever is hit begins anew."""
    for left in reversed(range(STARTS)):
        try:
            return job()
        except Exception as error:
            if running._SLOW not in str(error) or not left:
                raise
    raise AssertionError("the last start returns or raises")


def run_all(jobs: Mapping[str, Callable[[], None]], failures: Path) -> None:
    """All at once. What goes wrong is in a file for each."""

    def run(name: str, job: Callable[[], None]) -> None:
        try:
            run_patiently(job)
        except BaseException:
            failures.mkdir(exist_ok=True)
            (failures / name).write_text(traceback.format_exc())

    threads = [threading.Thread(target=run, args=each) for each in jobs.items()]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if failures.exists():
        raise SystemExit(f"failed: {sorted(failures.iterdir())}")


def main(master: str, address: str, topic: str, folder: str, *names: str) -> None:
    settings = {
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "2",
    }
    spark = session(master, "driver", settings)
    spark.sparkContext.setLogLevel("ERROR")
    ArchiveJob.source, ReplayJob.source = held_jobs.HeldArchive, held_jobs.HeldReplay
    vars(running)["TableSink"] = held_jobs.HeldTable
    held_jobs.hold_archives()
    driver = Driver(spark, address, topic, Path(folder))
    run_all({name: driver.job(name) for name in names}, Path(folder, "failures"))
    driver.write_down()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
