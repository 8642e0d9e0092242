"""The examples do what they say."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession
from tests.broker_process import BrokerProcess
from tests.spark.pipelines.test_running import rows_in, send
from tests.spark.topic_reading import open_transactions, values, wait_until

from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.spark import Sink
from penstock.spark.pipelines.reading import read_file

EXAMPLES = Path(__file__).parents[3] / "examples"
pytestmark = pytest.mark.timeout(300)


def test_the_examples_run(
    spark: SparkSession,
    own_broker: Callable[..., BrokerProcess],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    broker = own_broker().start()
    orders = [
        {"id": f"o{number}", "amount": number * 30.0, "at": f"2026-07-01T12:0{number}:00Z"}
        for number in range(6)
    ]
    with WireClient(broker.address) as client:
        for name in ("orders", "large-orders", "logs"):
            admin.create_topic(client, name)
        send(client, "orders", *map(json.dumps, orders))
        send(client, "logs", "2026-07-01T12:00:00Z INFO shop open", "?")
        large = runpy.run_path(str(EXAMPLES / "large_orders.py"))["main"]
        large(spark, broker.address, str(tmp_path / "checkpoint"))
        wait_until(lambda: not open_transactions(client))
        assert [json.loads(each)["id"] for each in values(client, "large-orders")] == ["o4", "o5"]

        declared = read_file(EXAMPLES / "orders.toml")
        table = tmp_path / "table"
        sink: Sink = msgspec.structs.replace(declared.sink, table=str(table))
        state = tmp_path / "state"
        msgspec.structs.replace(declared, sink=sink).run(
            spark=spark, once=True, bootstrap=broker.address, state=state
        )
        assert sorted(row["amount"] for row in rows_in(table)) == [row["amount"] for row in orders]

        logs = runpy.run_path(str(EXAMPLES / "log_aggregation.py"))["main"]
        logs(spark, broker.address, str(tmp_path))
        assert values(client, "logs.dead-letters") == [b"?"]
    assert "INFO" in capfd.readouterr().out
