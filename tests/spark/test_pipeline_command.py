"""`penstock pipeline` with Spark at work."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession
from tests.broker_process import BrokerProcess
from tests.spark.records import in_table, in_topic, send, wait_for_markers, without_offsets

from penstock.cli.main import main
from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.spark.tables.topic_table import TableFormat


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


def run(address: str, *arguments: str) -> list[str]:
    done = CliRunner(env={"PENSTOCK_BOOTSTRAP": address}).invoke(main, ["pipeline", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


def test_a_topic_is_archived_and_replayed_by_two_commands(
    spark: SparkSession,
    broker: BrokerProcess,
    client: WireClient,
    topic: str,
    tmp_path: Path,
    form: TableFormat,
) -> None:
    admin.create_topic(client, topic, partitions=2)
    send(client, topic, range(300))
    folder = str(tmp_path / "table")
    given = ("archive", topic, "--to", folder, "--once", "--table-format", form.value)
    first, last = run(broker.address, *given)
    assert first.startswith("round 1: 300 records, ")
    assert first.endswith("lag 0")
    assert last == f"archived 300 records in 1 round of {topic} to {folder}"
    assert in_table(tmp_path / "table") == in_topic(client, topic)
    admin.create_topic(client, f"{topic}-copy", partitions=2)
    told = run(broker.address, "replay", folder, "--to", f"{topic}-copy", "--json")
    shown, whole = map(json.loads, told)
    assert (shown["round"], shown["rows"], shown["lag"]) == (1, 300, 0)
    assert (whole["rows"], whole["lag"], whole["topic"]) == (300, 0, f"{topic}-copy")
    wait_for_markers(client, f"{topic}-copy")
    assert without_offsets(in_topic(client, f"{topic}-copy")) == without_offsets(
        in_table(tmp_path / "table")
    )
    (again,) = run(broker.address, "replay", folder, "--to", f"{topic}-copy")
    assert f"replay {whole['id']} was complete" in again


@pytest.mark.timeout(300)
def test_an_archive_runs_until_it_is_told_to_stop(
    broker: BrokerProcess, client: WireClient, topic: str, tmp_path: Path
) -> None:
    admin.create_topic(client, topic)
    send(client, topic, range(100), 1)
    command = [sys.executable, "-m", "penstock", "pipeline", "archive", topic]
    options = ["--to", str(tmp_path / "t"), "--bootstrap", broker.address, "--master", "local[1]"]
    running = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        assert running.stdout.readline().startswith("round 1: 100 records")
        running.send_signal(signal.SIGTERM)
        rest, _ = running.communicate(timeout=120)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 0
    assert rest.startswith("archived 100 records in 1 round")
    assert in_table(tmp_path / "t") == in_topic(client, topic)
