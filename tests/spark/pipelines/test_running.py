"""Pipelines from declaration to result, on Spark and against a broker."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from tests.broker_process import BrokerProcess
from tests.spark.topic_reading import committed, values

from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.client.group_offsets import committed_offsets
from penstock.client.producer import Producer
from penstock.spark import Pipeline, Sink, Source
from penstock.spark.errors import SparkError
from penstock.spark.pipelines.progress import Progress
from penstock.spark.pipelines.state import DONE, FAILED, State
from penstock.spark.tables.results import read_table

Run = Callable[..., Progress]
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


@pytest.fixture
def run(spark: SparkSession, broker: BrokerProcess, tmp_path: Path) -> Run:
    def made(pipeline: Pipeline, **more: Any) -> Progress:
        given = {"once": True, "bootstrap": broker.address, "state": tmp_path / "state", **more}
        done: Progress = pipeline.run(spark=spark, **given)
        return done

    return made


def send(client: WireClient, topic: str, *texts: str | None) -> None:
    producer = Producer(client, topic)
    for text in texts:
        value = None if text is None else text.encode()
        producer.send(value, b"k", ((b"tag", b"t"),))
    producer.flush()


def order(number: int, at: str = "2026-01-01T00:00:00Z") -> str:
    return json.dumps({"id": f"o{number}", "amount": number / 2, "at": at})


def rows_in(folder: Path) -> list[dict[str, Any]]:
    """By others' code alone."""
    files = [unquote(each) for each in DeltaTable(folder).file_uris()]
    return [row for each in files for row in pq.read_table(each).to_pylist()]


DERBY = {"driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver"}
"""A database that comes with Spark."""
SCHEMA = "id string not null, amount double, at timestamp"
MORE_THAN_ONE = [order(7) + behind for behind in (order(8), " garbage", "]} garbage")]


def test_json_of_a_topic_goes_through_sql_into_a_topic_and_poison_to_dead_letters(
    client: WireClient, topic: str, run: Run
) -> None:
    admin.create_topic(client, topic, partitions=2)
    pipeline = Pipeline(
        name=topic,
        sources={"orders": Source(topic=topic, format="json", schema=SCHEMA)},
        sql="select id as key, id, amount * 2 as twice from orders where amount > 1",
        sink=Sink(topic=f"{topic}.twice"),
    )
    poison = ["{half", '{"id": "x", "amount": "much"}', '{"amount": 3}', "[1]", "", *MORE_THAN_ONE]
    send(client, topic, *map(order, range(4)), *poison, order(4))
    progress = run(pipeline)
    assert (progress.rows, progress.lag, progress.dead_letters) == (13, 0, 8)
    send(client, topic, order(5), "{poison")
    run(pipeline)
    wanted = [{"id": f"o{number}", "twice": float(number)} for number in (3, 4, 5)]
    found = [each for held in committed(client, f"{topic}.twice").values() for each in held]
    assert sorted(json.loads(each.value or b"")["id"] for each in found) == ["o3", "o4", "o5"]
    assert all(json.loads(each.value or b"") in wanted for each in found)
    assert all(each.key == json.loads(each.value or b"")["id"].encode() for each in found)

    dead = [each for held in committed(client, f"{topic}.dead-letters").values() for each in held]
    assert Counter(each.value for each in dead) == Counter(
        text.encode() for text in [*poison, "{poison"]
    )
    sent = {
        (topic.encode(), b"%d" % index, b"%d" % each.offset): each.value
        for index, held in committed(client, topic).items()
        for each in held
    }
    for each in dead:
        headers = dict(each.headers)
        where, index, offset = (headers[b"__dlq.errors." + name] or b"" for name in _ORIGIN)
        assert sent[where, index, offset] == each.value
        assert (each.key, headers[b"tag"]) == (b"k", b"t")
        missing = each.value == b'{"amount": 3}'
        cause = b"id is missing" if missing else b"the value is not as the schema says (json)"
        assert headers[b"__dlq.errors.message"] == cause
    lags = committed_offsets(client, f"penstock-pipeline-{topic}")
    assert sum(each.offset for each in lags.values()) == 15


_ORIGIN = (b"topic", b"partition", b"offset")


def test_a_topic_is_copied_into_one_with_fewer_partitions_and_headers_and_times_go_with_it(
    client: WireClient, topic: str, run: Run
) -> None:
    admin.create_topic(client, topic, partitions=3)
    producer = Producer(client, topic)
    for index in range(3):
        producer.send(b"%d" % index, b"k%d" % index, ((b"tag", b"t"),), index)
    producer.flush()
    copy = Sink(topic=f"{topic}.copy")
    run(Pipeline(name=topic, sources={"all": Source(topic=topic)}, sink=copy))
    assert list(committed(client, f"{topic}.copy")) == [0]
    sent, found = (
        sorted(
            (each.value, each.key, each.timestamp, each.headers)
            for held in committed(client, name).values()
            for each in held
        )
        for name in (topic, f"{topic}.copy")
    )
    assert found == sent
    assert [each[0] for each in found] == [b"0", b"1", b"2"]


def test_windows_close_behind_the_watermark_and_are_rows_of_a_table(
    spark: SparkSession, client: WireClient, topic: str, run: Run, tmp_path: Path
) -> None:
    admin.create_topic(client, topic)
    pipeline = Pipeline(
        name=topic,
        sources={
            "orders": Source(topic=topic, format="json", schema=SCHEMA, watermark="at 1 minute")
        },
        sql="""select window.start as start, count(*) as orders, sum(amount) as amount
               from orders group by window(at, '1 minute')""",
        sink=Sink(table=str(tmp_path / "table")),
        settings={"spark.sql.shuffle.partitions": "1"},
    )
    send(client, topic, *(order(n, f"2026-01-01T00:0{n // 4}:0{n % 4}Z") for n in range(12)))
    run(pipeline)
    assert [row["orders"] for row in rows_in(tmp_path / "table")] == [4]
    send(client, topic, order(1, "2026-01-01T00:00:30Z"), order(100, "2026-01-01T00:09:00Z"))
    run(pipeline)
    found = sorted(rows_in(tmp_path / "table"), key=lambda row: str(row["start"]))
    assert [(row["orders"], row["amount"]) for row in found] == [(4, 3.0), (4, 11.0), (4, 19.0)]
    assert read_table(spark, tmp_path / "table").where("orders = 4").count() == 3


def test_files_tables_and_databases_are_joined_into_rows_that_replace_others(
    spark: SparkSession, client: WireClient, run: Run, topic: str, tmp_path: Path
) -> None:
    """Files are watched; a table and files that are static are read as they are."""
    folder = tmp_path / "a table"
    (tmp_path / "sales").mkdir()
    (tmp_path / "names.json").write_text('{"id": 1, "name": "one"}\n{"id": 2, "name": "two"}\n')

    def totals(session: SparkSession, sources: dict[str, DataFrame]) -> DataFrame:
        sold = sources["sales"].join(sources["names"], "id")
        return sold.groupBy("name").agg(F.sum("amount").alias("total"))

    pipeline = Pipeline(
        name=topic,
        sources={
            "sales": Source(
                files=str(tmp_path / "sales"), format="csv", schema="id int, amount double"
            ),
            "names": Source(
                files=str(tmp_path / "names.json"),
                format="json",
                schema="id int, name string",
                static=True,
            ),
        },
        function=totals,
        sink=Sink(table=str(folder), mode="update", keys=["name"]),
        settings={"spark.sql.shuffle.partitions": "1"},
    )
    (tmp_path / "sales" / "1.csv").write_text("1,10\n2,20\n1,5\n")
    run(pipeline)
    (tmp_path / "sales" / "2.csv").write_text("2,1\n3,100\n")
    run(pipeline)
    found = {row["name"]: row["total"] for row in rows_in(folder)}
    assert found == {"one": 15.0, "two": 21.0}

    database = "jdbc:derby:memory:pipelines"
    log = str(tmp_path / "derby.log")
    spark.sparkContext._jvm.java.lang.System.setProperty("derby.stream.error.file", log)  # type: ignore[union-attr]
    totals_now = read_table(spark, folder)
    totals_now.write.jdbc(f"{database};create=true", "totals", properties=DERBY)
    copy = Pipeline(
        name=f"{topic}-copy",
        sources={
            "totals": Source(table=str(folder)),
            "kept": Source(jdbc=database, table="totals", options=DERBY),
        },
        sql="select name, totals.total, kept.total as kept from totals join kept using (name)",
        sink=Sink(topic=topic, key="name"),
    )
    run(copy)
    assert sorted(map(json.loads, values(client, topic)), key=lambda row: str(row["name"])) == [
        {"name": "one", "total": 15.0, "kept": 15.0},
        {"name": "two", "total": 21.0, "kept": 21.0},
    ]


def test_what_is_wrong_with_a_pipeline_is_said_and_noted(
    client: WireClient, topic: str, run: Run, tmp_path: Path
) -> None:
    admin.create_topic(client, topic)
    source = Source(topic=topic, format="json", schema="id strin")
    sink = Sink(table=str(tmp_path / "table"))
    with pytest.raises(SparkError, match=r"sources\.orders\.schema: \S.*(?i:strin)"):
        run(Pipeline(name=topic, sources={"orders": source}, sink=sink))
    note = State(tmp_path / "state").note(topic)
    assert note.situation == FAILED
    assert "sources.orders.schema" in (note.error or "")
    plain = {"orders": Source(topic=topic)}
    with pytest.raises(SparkError, match="nowhere"):
        run(Pipeline(name=topic, sources=plain, sql="select * from nowhere", sink=sink))
    send(client, topic, "a")
    run(Pipeline(name=topic, sources=plain, sink=sink))
    assert State(tmp_path / "state").note(topic).situation == DONE
    send(client, topic, "b")
    other = Pipeline(name=topic, sources=plain, sql="select offset from orders", sink=sink)
    with pytest.raises(SparkError, match="has other columns"):
        run(other)
    late = Pipeline(name=topic, sources=plain, sink=sink, settings={"spark.jars": "driver.jar"})
    with pytest.raises(SparkError, match=r"settings\.spark\.jars: .* only at the start"):
        run(late)
    foreign = {"orders": Source(topic=f"{topic}.other")}
    with pytest.raises(SparkError, match="another name or checkpoint"):
        run(Pipeline(name=topic, sources=foreign, sink=sink))
