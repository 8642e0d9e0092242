"""Archive, history and replay as Spark runs them, on one topic from beginning to end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.broker_process import BrokerProcess
from tests.spark.records import (
    check_copy,
    check_same,
    in_frame,
    in_table,
    in_topic,
    send,
    wait_for_markers,
)

from penstock.client import admin, offsets
from penstock.client.cluster import WireClient
from penstock.client.ranges import Range
from penstock.spark.archive.archiver import ArchiveOptions, Archiver
from penstock.spark.archive.spark_job import SparkJob
from penstock.spark.archive.tasks import Here, Job
from penstock.spark.errors import FolderError, SparkError
from penstock.spark.replay.replayer import Replayer, ReplayOptions
from penstock.spark.replay.spark_job import SparkJob as ReplayJob


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


def test_a_topic_becomes_a_table_and_a_topic_again(
    spark: SparkSession, broker: BrokerProcess, client: WireClient, topic: str, tmp_path: Path
) -> None:
    admin.create_topic(client, topic, partitions=2)
    send(client, topic, range(1000))
    expected = in_topic(client, topic)
    folder = tmp_path / "table"
    options = ArchiveOptions(broker.address, topic, str(folder), once=True, rows_a_round=700)
    assert Archiver(options, SparkJob(lambda: spark)).run() == 2
    check_same(in_table(folder), expected)
    check_same(in_frame(spark.read.parquet(*DeltaTable(folder).file_uris())), expected)

    admin.create_topic(client, f"{topic}-copy", partitions=2)
    again = ReplayOptions(broker.address, str(folder), f"{topic}-copy")
    assert Replayer(again, ReplayJob(lambda: spark)).run() == 0
    wait_for_markers(client, f"{topic}-copy")
    check_copy(in_topic(client, f"{topic}-copy"), expected)


def test_history_is_read_in_batch_and_in_stream(
    spark: SparkSession, broker: BrokerProcess, client: WireClient, topic: str, tmp_path: Path
) -> None:
    admin.create_topic(client, topic, partitions=2)
    send(client, topic, range(200))
    folder = tmp_path / "table"
    Archiver(ArchiveOptions(broker.address, topic, str(folder), once=True), Here()).run()
    send(client, topic, range(200, 300))
    expected = in_topic(client, topic)
    offsets.delete_records(client, topic, {0: 77, 1: 100})
    given = {
        "bootstrapServers": broker.address,
        "subscribe": topic,
        "startingOffsets": "first",
        "archive": str(folder),
        "includeHeaders": "true",
    }
    check_same(in_frame(spark.read.format("penstock").options(**given).load()), expected)
    query = (
        spark.readStream.format("penstock")
        .options(**given, maxOffsetsPerTrigger="170")
        .load()
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "read"))
    )
    query.awaitTermination()
    check_same(in_frame(spark.read.parquet(str(tmp_path / "read"))), expected)


def test_what_goes_wrong_in_a_task_is_told(spark: SparkSession, topic: str, tmp_path: Path) -> None:
    job = Job("127.0.0.1:1", 1.0, str(tmp_path / "nowhere"), [[Range(topic, bytes(16), 0, 0, 5)]])
    with pytest.raises(SparkError, match=r"cannot connect to 127\.0\.0\.1:1"):
        SparkJob(lambda: spark)(job)


def test_a_folder_that_a_task_cannot_write_to_is_told(
    spark: SparkSession, broker: BrokerProcess, client: WireClient, topic: str, tmp_path: Path
) -> None:
    admin.create_topic(client, topic)
    (tmp_path / "table").write_text("no folder")
    known = client.topic(topic)
    tasks = [[Range(topic, known.log_id_of(0), 0, 0, 1)]]
    job = Job(broker.address, 10.0, str(tmp_path / "table"), tasks)
    with pytest.raises(FolderError, match=r"table cannot be written to: Not a directory\. See to"):
        SparkJob(lambda: spark)(job)
