"""Topics read by Spark: against its own Kafka connector, and what a micro-batch costs by itself."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame, SparkSession
from tests.compat import spark_jars

from bench.measurement import Result
from bench.pinned_broker import PinnedBroker
from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.client.producer import Producer
from penstock.spark.session import session

TOPIC, PARTITIONS = "messages", 4
BYTES = 1 << 29
SIZES = (100, 1024)
ROUNDS = 7
BATCHES = 30


def source(profile: Path | None = None) -> Result:
    """Rows a second into Spark's sink that drops them, of the same topic, in turns."""
    with open_broker(profile) as client:
        try:
            jars = _jars()
        except (OSError, subprocess.SubprocessError) as problem:
            return Result(
                "rows/s against Spark's own Kafka connector", 0, "", "", False, str(problem)
            )
        with on_spark() as spark:
            for jar in jars.split(","):
                spark.sql(f"ADD JAR '{jar}'")
            ratios = {size: _ratio(spark, client, size) for size in SIZES}
    worst = min(ratio for ratio, _ in ratios.values())
    told = "; ".join(f"{size} B: {ratio:.2f}, {rate}" for size, (ratio, rate) in ratios.items())
    return Result(
        "rows/s against Spark's own Kafka connector", worst, "x", "at least 1.5", worst >= 1.5, told
    )


@cache
def _jars() -> str:
    """In a folder that stays until this process ends: so does Spark's Java, which looks into jars
    that it was once given for every session."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return spark_jars.fetch(Path(folder))


def _ratio(spark: SparkSession, client: WireClient, size: int) -> tuple[float, str]:
    topic, count = f"{TOPIC}-{size}", min(BYTES // size, 2_000_000)
    _fill(client, topic, count, size)
    forms = {form: _table(spark, form, client, topic) for form in ("penstock", "kafka")}
    rates: dict[str, list[float]] = {form: [] for form in forms}
    for _ in range(ROUNDS + 2):
        for form, table in forms.items():
            rates[form].append(count / _seconds(table))
    ours, theirs = (median(rates[form][2:]) for form in forms)
    return ours / theirs, f"{ours / 1e6:.2f} and {theirs / 1e6:.2f} M rows/s"


def micro_batch(profile: Path | None = None) -> Result:
    """What Spark and the source take for a batch of one row."""
    with tempfile.TemporaryDirectory() as folder, open_broker(profile) as client:
        admin.create_topic(client, TOPIC, partitions=PARTITIONS)
        producer = Producer(client, TOPIC)
        for _ in range(BATCHES):
            producer.send(b"value")
        producer.flush()
        with on_spark() as spark:
            took_ms = _batches_ms(spark, client, folder)
    value = median(took_ms[BATCHES // 3 :])
    told = f"{min(took_ms):.0f} to {max(took_ms):.0f} ms"
    return Result("a micro-batch of one row", value, "ms", "under 200", value < 200, told)


def _batches_ms(spark: SparkSession, client: WireClient, folder: str) -> list[float]:
    stream = (
        spark.readStream.format("penstock")
        .options(bootstrapServers=address_of(client), subscribe=TOPIC)
        .options(startingOffsets="earliest", maxOffsetsPerTrigger="1")
        .load()
    )
    writer = stream.writeStream.format("noop").option("checkpointLocation", folder)
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return [float(each["durationMs"]["triggerExecution"]) for each in query.recentProgress]


@contextmanager
def open_broker(profile: Path | None) -> Iterator[WireClient]:
    """On any core, as Spark is."""
    with PinnedBroker(profile=profile) as broker:
        every = range(os.cpu_count() or 1)
        for process in (0, broker.process.pid):
            os.sched_setaffinity(process, every)
        with WireClient(f"{broker.host}:{broker.port}") as client:
            yield client


@contextmanager
def on_spark() -> Iterator[SparkSession]:
    made = session("local[2]", "bench", {"spark.driver.memory": "2g"})
    made.sparkContext.setLogLevel("ERROR")
    try:
        yield made
    finally:
        made.stop()


def _fill(client: WireClient, topic: str, count: int, size: int) -> None:
    """In batches as a busy producer makes them."""
    admin.create_topic(client, topic, partitions=PARTITIONS)
    producer = Producer(client, topic, batch_records=1000, batch_bytes=1 << 20)
    for number in range(count):
        producer.send(bytes(size), b"%d" % number, partition=number // 1000 % PARTITIONS)
    producer.flush()


def _table(spark: SparkSession, form: str, client: WireClient, topic: str) -> DataFrame:
    options = {"kafka.bootstrap.servers": address_of(client), "subscribe": topic}
    return spark.read.format(form).options(**options).load()


def address_of(client: WireClient) -> str:
    return ",".join(map(str, client.brokers().values()))


def _seconds(table: DataFrame) -> float:
    began = time.perf_counter()
    table.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began
