"""Spark's own Kafka connector, unchanged: what it reads and writes here, and how ours compares."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.broker_process import BrokerProcess
from tests.compat import spark_jars

from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.client.producer import Producer
from penstock.spark.session import session

COUNT, PARTITIONS = 5000, 3


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    jars = spark_jars.fetch(tmp_path_factory.mktemp("jars"))
    made = session("local[2]", "compat", {"spark.jars": jars})
    made.sparkContext.setLogLevel("ERROR")
    yield made
    made.stop()


@pytest.fixture
def filled(broker: BrokerProcess, topic: str) -> str:
    with WireClient(broker.address) as client:
        admin.create_topic(client, topic, partitions=PARTITIONS)
        producer = Producer(client, topic)
        for number in range(COUNT):
            headers = ((b"number", b"%d" % number),) if number % 3 else ()
            producer.send(b"value %d" % number, b"key %d" % number, headers)
        producer.flush()
    return topic


def read(spark: SparkSession, form: str, broker: BrokerProcess, topic: str) -> DataFrame:
    options = {"kafka.bootstrap.servers": broker.address, "subscribe": topic}
    return spark.read.format(form).options(includeHeaders="true", **options).load()


def rows(table: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in table.orderBy("partition", "offset").collect()]


@pytest.mark.timeout(300)
def test_both_connectors_read_the_same_rows(
    spark: SparkSession, broker: BrokerProcess, filled: str
) -> None:
    theirs, ours = (read(spark, form, broker, filled) for form in ("kafka", "penstock"))
    assert theirs.dtypes == ours.dtypes
    found = rows(theirs)
    assert len(found) == COUNT
    assert rows(ours) == found


@pytest.mark.timeout(300)
def test_their_stream_and_their_sink_work_here(
    spark: SparkSession, broker: BrokerProcess, filled: str, tmp_path: Path
) -> None:
    copy = f"{filled}-copy"
    with WireClient(broker.address) as client:
        admin.create_topic(client, copy, partitions=PARTITIONS)
    stream = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", broker.address)
        .option("subscribe", filled)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 2000)
        .load()
    )
    query = (
        stream.selectExpr("key", "value", "partition")
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", broker.address)
        .option("topic", copy)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    columns = ("partition", "offset", "key", "value")
    assert rows(read(spark, "penstock", broker, copy).select(*columns)) == rows(
        read(spark, "penstock", broker, filled).select(*columns)
    )
