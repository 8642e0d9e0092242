"""What a job may ask of a sink, and which columns it may give."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from penstock.spark.data_source import PenstockDataSource
from penstock.spark.errors import OptionError
from penstock.spark.sink.columns import check_columns
from penstock.spark.sink.options import sink_options
from penstock.wire.compression import Codec

NEEDED = {"bootstrapServers": "localhost:9092"}
HEADERS = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)
VALUE = StructField("value", StringType())


def test_a_batch_is_written_exactly_once_unless_told_otherwise() -> None:
    read = sink_options(NEEDED)
    assert read.is_exactly_once
    assert (read.topic, read.codec, read.orphan_timeout_ms) == (None, Codec.NONE, 3_600_000)
    assert not sink_options({**NEEDED, "delivery": "at-least-once"}).is_exactly_once


def test_names_of_sparks_kafka_sink_are_taken() -> None:
    read = sink_options(
        {
            "kafka.bootstrap.servers": "one:1,two:2",
            "topic": "orders",
            "kafka.compression.type": "zstd",
            "kafka.linger.ms": "5",
            "includeHeaders": "true",
            "checkpointLocation": "here",
            "sink.orphan.timeout": "30s",
        }
    )
    assert (read.bootstrap, read.topic) == ("one:1,two:2", "orders")
    assert (read.codec, read.orphan_timeout_ms) == (Codec.ZSTD, 30_000)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"bootstrapServers": ""}, "bootstrapServers is missing"),
        ({"delivery": "maybe"}, "give one of exactly-once, at-least-once"),
        ({"compression": "rar"}, "give one of none, gzip"),
        ({"sink.orphan.timeout": "soon"}, "a number and a unit"),
        ({"topics": "orders"}, "did you mean topic?"),
        ({"subscribe": "orders"}, "no option subscribe"),
        ({"kafka.sasl.mechanism": "SCRAM"}, "plain connections only"),
    ],
)
def test_a_mistake_is_named(given: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError, match=said.replace("?", r"\?")):
        sink_options({**NEEDED, **given})


def test_all_columns_of_sparks_kafka_sink_are_taken_and_others_passed_over() -> None:
    check_columns(
        StructType(
            [
                VALUE,
                StructField("key", BinaryType()),
                StructField("topic", StringType()),
                StructField("partition", IntegerType()),
                StructField("headers", HEADERS),
                StructField("timestamp", TimestampType()),
                StructField("offset", LongType()),
            ]
        ),
        None,
    )


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ([], "column value is missing"),
        ([StructField("Value", StringType())], "column value is missing: there are Value"),
        ([StructField("value", LongType())], "column value has type bigint"),
        ([VALUE, StructField("key", LongType())], "column key has type bigint"),
        ([VALUE, StructField("topic", BinaryType())], "column topic has type binary"),
        ([VALUE, StructField("partition", LongType())], "column partition has type bigint"),
        ([VALUE, StructField("headers", StringType())], "column headers has type string"),
        ([VALUE, StructField("timestamp", LongType())], "column timestamp has type bigint"),
    ],
)
def test_a_column_that_is_wrong_is_named(columns: list[StructField], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        check_columns(StructType(columns), "orders")


def test_a_topic_has_to_come_from_somewhere() -> None:
    with pytest.raises(OptionError, match="Give the option topic"):
        check_columns(StructType([VALUE]), None)


def test_a_topic_is_never_overwritten() -> None:
    source = PenstockDataSource({**NEEDED, "topic": "orders"})
    with pytest.raises(OptionError, match="give mode append"):
        source.writer(StructType([VALUE]), overwrite=True)
    source.writer(StructType([VALUE]), overwrite=False)
