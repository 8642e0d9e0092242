"""Tables with values as columns: nothing is lost that cannot be decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyiceberg.table import StaticTable
from pyspark.sql import SparkSession
from tests.broker_process import BrokerProcess
from tests.spark.records import in_table, in_topic

from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.client.producer import Producer
from penstock.spark.archive.archiver import ArchiveOptions, Archiver
from penstock.spark.archive.spark_job import SparkJob
from penstock.spark.archive.tasks import Here
from penstock.spark.errors import SparkError
from penstock.spark.tables.formats import open_table
from penstock.spark.tables.maintenance import compact
from penstock.spark.tables.topic_table import TableFormat
from penstock.spark.values.schema import given_schema

ICEBERG = TableFormat.ICEBERG

SCHEMA = "id STRING NOT NULL, n INT"
VALUES = [b'{"id":"a","n":1}', b"poison", None, b'{"n":2}', b'{"id":"b"}']
DECODED = [
    ({"id": "a", "n": 1}, None),
    (None, "JSON is malformed: invalid character (byte 0)"),
    (None, None),
    (None, "id is missing"),
    ({"id": "b", "n": None}, None),
]


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


@pytest.fixture
def archive(broker: BrokerProcess, topic: str, tmp_path: Path) -> Callable[..., Path]:
    """To the table that it gives."""

    def run(runner: Any = None, schema: str | None = None, schema_id: int | None = None) -> Path:
        values = None if schema is None else given_schema(schema, schema_id)
        options = ArchiveOptions(
            broker.address, topic, str(tmp_path / "table"), once=True, values=values
        )
        Archiver(options, runner or Here()).run()
        return tmp_path / "table"

    return run


def send(client: WireClient, topic: str, values: list[bytes | None]) -> None:
    producer = Producer(client, topic)
    for value in values:
        producer.send(value)
    producer.flush()


def decoded(folder: Path) -> list[tuple[Any, str | None]]:
    files = sorted(DeltaTable(folder).file_uris())
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    return [(row["value_decoded"], row["value_error"]) for row in rows]


def test_values_are_columns_and_what_cannot_be_decoded_stays_with_the_cause(
    client: WireClient, topic: str, archive: Callable[..., Path], spark: SparkSession
) -> None:
    admin.create_topic(client, topic)
    send(client, topic, VALUES)
    folder = archive(schema=SCHEMA)
    send(client, topic, VALUES)
    archive(SparkJob(lambda: spark))
    assert decoded(folder) == DECODED * 2
    assert in_table(folder) == in_topic(client, topic)
    assert compact(open_table(folder)) == (2, 1)
    assert decoded(folder) == DECODED * 2
    rows = spark.read.parquet(*DeltaTable(folder).file_uris())
    assert rows.where("value_decoded.n = 1 or value_error is not null").count() == 6


def test_values_are_columns_of_iceberg_too(
    broker: BrokerProcess, client: WireClient, topic: str, tmp_path: Path
) -> None:
    admin.create_topic(client, topic)
    send(client, topic, [b'{"a":-7,"b":[{"x":1.25,"y":"2026-07-01"}],"c":{"d":[300]}}', b"poison"])
    folder = tmp_path / "table"
    schema = "a TINYINT, b ARRAY<STRUCT<x: DECIMAL(5,2), y: DATE>>, c STRUCT<d: ARRAY<SMALLINT>>"
    options = ArchiveOptions(broker.address, topic, str(folder), once=True, form=ICEBERG)
    Archiver(options._replace(values=given_schema(schema)), Here()).run()
    send(client, topic, [b'{"a":300}', b'{"a":5}'])
    Archiver(options, Here()).run()
    assert compact(open_table(folder)) == (2, 1)
    (planned,) = StaticTable.from_metadata(str(folder)).scan().plan_files()
    rows = pq.read_table(planned.file.file_path).to_pylist()
    assert [each["value_decoded"] for each in rows] == [
        {"a": -7, "b": [{"x": Decimal("1.25"), "y": date(2026, 7, 1)}], "c": {"d": [300]}},
        None,
        None,
        {"a": 5, "b": None, "c": None},
    ]
    assert [each["value_error"] is None for each in rows] == [True, False, False, True]
    few = ("value_decoded.a", "value_decoded.c.d", "value_error")
    read = StaticTable.from_metadata(str(folder)).scan(selected_fields=few).to_arrow().to_pylist()
    assert read[0] == {"value_decoded": {"a": -7, "c": {"d": [300]}}, "value_error": None}
    assert [each["value_decoded"] for each in read[1:3]] == [None, None]
    assert in_table(folder) == in_topic(client, topic)


def test_a_table_keeps_its_schema(
    client: WireClient, topic: str, archive: Callable[..., Path]
) -> None:
    admin.create_topic(client, topic)
    archive(schema=SCHEMA)
    archive(schema=f" {SCHEMA}")
    with pytest.raises(SparkError, match="was made with another schema for values, or none"):
        archive(schema="id STRING")


def test_values_in_avro_behind_a_schemas_id(
    client: WireClient, topic: str, archive: Callable[..., Path], tmp_path: Path
) -> None:
    path = tmp_path / "order.avsc"
    path.write_text(
        '{"type":"record","name":"R","fields":[{"name":"a","type":"long"},'
        '{"name":"b","type":["null","string"]}]}'
    )
    admin.create_topic(client, topic)
    send(client, topic, [b"\0\0\0\0\7\x36\2\6foo", b"\x36\2\6foo", None])
    assert decoded(archive(schema=str(path), schema_id=7)) == [
        ({"a": 27, "b": "foo"}, None),
        (None, "it does not begin with a schema's id"),
        (None, None),
    ]
