"""The commands of pipelines in this process, on the Spark that is there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from pyspark.sql import SparkSession
from tests.broker_process import BrokerProcess
from tests.cli.conftest import run
from tests.spark.pipelines.test_running import rows_in, send
from tests.spark.topic_reading import committed, open_transactions, values, wait_until

from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.client.group_offsets import commit_offsets

pytestmark = pytest.mark.timeout(300)
Told = Callable[..., Any]


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


@pytest.fixture
def pipeline(broker: BrokerProcess, tmp_path: Path) -> Callable[..., Result]:
    def call(*arguments: str) -> Result:
        state = () if arguments[0] == "report" else ("--state", str(tmp_path / "state"))
        return run(broker.address, "pipeline", *arguments, *state)

    return call


@pytest.fixture
def told(pipeline: Callable[..., Result]) -> Told:
    """What a command that succeeds printed as JSON, last."""

    def call(*arguments: str) -> Any:
        result = pipeline(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout.splitlines()[-1])

    return call


def test_a_part_of_a_topic_is_processed_again_once(
    spark: SparkSession, client: WireClient, topic: str, told: Told, pipeline: Callable[..., Result]
) -> None:
    admin.create_topic(client, topic)
    send(client, topic, *(f'{{"n": {number}}}' for number in range(20)))
    asked = ("backfill", topic, "--name", topic, "--from-offset", "5", "--to-offset", "15")
    work = ("--format", "json", "--schema", "n int", "--sql", "select n * 2 as n from topic")
    to = ("--to-topic", f"{topic}.again")
    assert told(*asked, *work, *to)["rows"] == 10
    send(client, topic, '{"n": 20}')
    assert told(*asked, *work, *to)["rows"] == 0, "the same name is complete"
    wait_until(lambda: not open_transactions(client))
    again = [json.loads(each)["n"] for each in values(client, f"{topic}.again")]
    assert sorted(again) == [2 * number for number in range(5, 15)]
    assert told("status", topic)["state"] == "done"
    assert told("list")[0]["kind"] == "backfill"
    for other in (
        ("backfill", topic, "--name", topic, "--from-offset", "6", *to),
        (*asked, *work, "--to-topic", f"{topic}.elsewhere"),
    ):
        refused = pipeline(*other)
        assert refused.exit_code == 1
        assert "another --name" in refused.stderr


def test_sums_over_a_part_of_a_topic_are_a_table(
    spark: SparkSession, client: WireClient, topic: str, told: Told, tmp_path: Path
) -> None:
    admin.create_topic(client, topic)
    send(client, topic, *map(str, range(10)))
    sql = "select sum(cast(value as int)) as total from topic"
    to = ("--to", str(tmp_path / "table"), "--mode", "complete")
    asked = ("backfill", topic, "--name", topic, "--format", "text", "--to-offset", "5")
    told(*asked, "--sql", sql, *to)
    assert rows_in(tmp_path / "table") == [{"total": 10}]


def test_logs_are_counted_by_window_and_shown(
    spark: SparkSession,
    client: WireClient,
    topic: str,
    pipeline: Callable[..., Result],
    tmp_path: Path,
) -> None:
    admin.create_topic(client, topic)
    lines = [
        *(f"2026-01-01T00:00:{second:02}Z INFO shop sold {second}" for second in range(20)),
        *(f"2026-01-01T00:01:{second:02}Z error shop failed" for second in range(5)),
        "2026-01-01 00:01:30 [WARN] [pay.cards]: slow",
        "Traceback (most recent call last):",
        "2026-99-01T00:00:00Z INFO shop no such month",
    ]
    send(client, topic, *lines, None)
    given = ("topic", topic), ("table", str(tmp_path / "table")), ("name", topic)
    sets = [each for key, value in given for each in ("--set", f"{key}={value}")]
    result = pipeline("run", "--template", "log-aggregation", *sets, "--once")
    assert result.exit_code == 0, result.output
    assert f"2026-01-01 00:00:00  INFO   {'█' * 50} 20" in result.output
    assert "3 dead letters" in result.output
    send(client, topic, "2026-01-01T00:01:59Z ERROR shop failed")
    assert pipeline("run", "--template", "log-aggregation", *sets, "--once").exit_code == 0
    found = {
        (row["start"].minute, row["level"], row["service"]): row["lines"]
        for row in rows_in(tmp_path / "table")
    }
    assert found == {
        (0, "INFO", "shop"): 20,
        (1, "ERROR", "shop"): 6,
        (1, "WARN", "pay.cards"): 1,
    }
    assert len(rows_in(tmp_path / "table")) == 3, "a row that changes takes the place of itself"
    dead = [each.value for each in committed(client, f"{topic}.dead-letters")[0]]
    assert sorted(map(str, dead)) == sorted(map(str, [*(s.encode() for s in lines[-2:]), None]))


def test_the_queue_itself_is_tables(
    spark: SparkSession, client: WireClient, broker: BrokerProcess, topic: str, told: Told
) -> None:
    admin.create_topic(client, topic, partitions=2)
    send(client, topic, *map(str, range(10)))
    commit_offsets(client, f"{topic}-readers", {(topic, 0): 0})

    def table(name: str) -> list[Any]:
        reader = spark.read.format("penstock").option("bootstrapServers", broker.address)
        return list(reader.option("table", name).load().where(f"topic = '{topic}'").collect())

    (row,) = table("topics")
    assert (row.partitions, row.records, row.unknown) == (2, 10, 0)
    assert row.size_bytes > 0
    parts = table("partitions")
    assert sum(each.end_offset for each in parts) == 10
    assert [(each.group, each.lag) for each in table("groups")] == [
        (f"{topic}-readers", parts[0].end_offset)
    ]
    shown = told("report", "topics", "groups")
    (same,) = [each for each in shown["topics"] if each["topic"] == topic]
    assert same["records"] == 10
    assert f"{topic}-readers" in [each["group"] for each in shown["groups"]]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run"], 2, "give a FILE, or a --template"),
        (["run", "--template", "log-aggregation"], 1, "give --set topic="),
        (["status", "nothing"], 1, "there is no pipeline nothing"),
        (["stop", "nothing"], 1, "there is no pipeline nothing"),
        (["backfill", "t", "--name", "a/b", "--to-topic", "u"], 1, "is no name"),
        (["backfill", "t", "--name", "a", "--to-topic", "t"], 2, "it would be doubled"),
        (["backfill", "t", "--name", "a"], 1, "sink: give one of topic and table"),
        (["list", "--json"], 0, "[]"),
    ],
)
def test_what_cannot_be_done_is_said(
    pipeline: Callable[..., Result], arguments: list[str], code: int, said: str
) -> None:
    result = pipeline(*arguments)
    assert (result.exit_code, said in result.output) == (code, True), result.output
