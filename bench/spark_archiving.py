"""A topic into its table: rows a second, and what they cost whom."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bench import process_costs
from bench.half_random import fill
from bench.measurement import Result
from bench.spark_reading import address_of, on_spark, open_broker
from penstock.client.cluster import WireClient
from penstock.spark.archive.archiver import ArchiveOptions, Archiver, Round
from penstock.spark.archive.spark_job import SparkJob
from penstock.spark.rounds import Job
from penstock.spark.tables.files import DataFile

PARTITIONS, SIZE = 4, 1024
COUNT = int(os.environ.get("BENCH_ROWS", "2_000_000"))
GOAL = 250_000
WARMING = 30_000
RUNS = 3


class _Timed(SparkJob):
    """Notes when the first task begins, as near as the driver can tell."""

    begun_s = 0.0

    def __call__(self, job: Job) -> list[DataFile]:
        self.begun_s = self.begun_s or time.perf_counter()
        return super().__call__(job)


class Run(NamedTuple):
    """One topic archived, and what that took in seconds, also of the processors."""

    took_s: float
    rounds: list[Round]
    cost: dict[str, float]

    def __str__(self) -> str:
        share = sum(each.size_bytes for each in self.rounds) / COUNT / SIZE
        return (
            f"{COUNT:,} rows of {SIZE} B in {self.took_s:.1f} s and {len(self.rounds)} rounds, to "
            f"{share:.0%}; {COUNT / sum(self.cost.values()):,.0f} rows a CPU second "
            f"({process_costs.told(self.cost)})"
        )


def archive(profile: Path | None = None) -> Result:
    """From the first round's beginning to the last commit, the best of some runs. Spark has been
    started, and has archived a small topic, so that its workers are there too."""
    with (
        tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder,
        open_broker(profile) as client,
        on_spark() as spark,
    ):
        for topic, count in (("warming", WARMING), ("messages", COUNT)):
            fill(client, topic, PARTITIONS, count, SIZE)
        _archived(client, "warming", f"{folder}/warming", _Timed(lambda: spark))
        runs = []
        for number in range(RUNS):
            runs.append(_archived(client, "messages", f"{folder}/{number}", _Timed(lambda: spark)))
            shutil.rmtree(f"{folder}/{number}")
    best = min(runs, key=lambda each: each.took_s)
    rate = COUNT / best.took_s
    return Result(
        "archiving 1 KiB messages", rate, "rows/s", f"at least {GOAL:,}", rate >= GOAL, str(best)
    )


def _archived(client: WireClient, topic: str, folder: str, job: _Timed) -> Run:
    rounds: list[Round] = []
    options = ArchiveOptions(address_of(client), topic, folder, once=True)
    spent = process_costs.spent_under(os.getpid())
    Archiver(options, job, rounds.append).run()
    return Run(time.perf_counter() - job.begun_s, rounds, spent())
