"""Ten million messages archived, replayed and compared: `python -m bench.ten_million [COUNT]`."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests.spark import arrow_records

from bench import process_costs
from bench.half_random import fill
from bench.measurement import Result
from bench.spark_reading import address_of, on_spark, open_broker
from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.spark.archive import spark_job as archive_job
from penstock.spark.archive import tasks as archive_tasks
from penstock.spark.archive.archiver import ArchiveOptions, Archiver
from penstock.spark.replay import spark_job as replay_job
from penstock.spark.replay.replayer import Replayer, ReplayOptions, Runner

COUNT, SIZE, PARTITIONS = 10_000_000, 100, 4
TOPIC = "messages"


class Parts:
    """What the parts of it took, in seconds and in CPU seconds."""

    def __init__(self) -> None:
        self.told: list[str] = []

    @contextmanager
    def timed(self, name: str, rows: int) -> Iterator[None]:
        begun_s, spent = time.perf_counter(), process_costs.spent_under(os.getpid())
        yield
        took_s, cost = time.perf_counter() - begun_s, spent()
        rates = f"{rows / took_s:,.0f} rows/s, {rows / sum(cost.values()):,.0f} a CPU second"
        self.told.append(f"{name} {took_s:.0f} s, {rates} ({process_costs.told(cost)})")


def compared(profile: Path | None = None, count: int = COUNT) -> Result:
    parts = Parts()
    with (
        tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder,
        open_broker(profile) as client,
        on_spark() as spark,
    ):
        jobs = archive_job.SparkJob(lambda: spark), replay_job.SparkJob(lambda: spark)
        found = round_trip(client, TOPIC, Path(folder), count, *jobs, parts.timed)
    told = "; ".join(parts.told)
    return Result(
        "archived, replayed and compared", found, "messages", f"{count:,}", found == count, told
    )


def round_trip(
    client: WireClient,
    topic: str,
    folder: Path,
    count: int,
    archive: archive_tasks.Runner,
    replay: Runner,
    timed: Callable[[str, int], AbstractContextManager[None]],
) -> int:
    """How many messages are equal in topic, table and copy; AssertionError where one is not."""
    address, copy = address_of(client), f"{topic}-again"
    with timed("sent in", count):
        fill(client, topic, PARTITIONS, count, SIZE)
    with timed("archived in", count):
        Archiver(ArchiveOptions(address, topic, str(folder), once=True), archive).run()
    admin.create_topic(client, copy, partitions=PARTITIONS)
    with timed("replayed in", count):
        Replayer(ReplayOptions(address, str(folder), copy), replay).run()
    with timed("compared in", count):
        return arrow_records.check_round_trip(client, topic, folder, copy)


if __name__ == "__main__":
    print(compared(count=int(sys.argv[1]) if len(sys.argv) > 1 else COUNT).line())
