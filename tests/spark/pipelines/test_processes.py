"""Pipelines as users run them: processes that are listed, stopped, killed, and started again."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.broker_process import BrokerProcess
from tests.cli.conftest import run
from tests.lanes import cases
from tests.spark.topic_reading import committed, open_transactions

from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.client.producer import Producer

WAIT_S = 300.0
pytestmark = pytest.mark.timeout(900)

DECLARED = """
name = "copy"
trigger = "0 seconds"
sql = "select cast(number as string) as key, number, number * number as square from numbers"
[sources.numbers]
topic = "TOPIC"
format = "json"
schema = "number bigint not null"
options = {maxOffsetsPerTrigger = "40"}
[sink]
topic = "TOPIC.squares"
"""
FIRST = 'settings = {"spark.driver.maxResultSize" = "512m", "spark.sql.shuffle.partitions" = "1"}'
"""Of which one is for the start of a session, so not for the one that runs here."""


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


class Commands:
    def __init__(self, address: str, folder: Path) -> None:
        self._environment = {
            **os.environ,
            "PENSTOCK_BOOTSTRAP": address,
            "PENSTOCK_STATE": str(folder / "state"),
        }
        self.log = folder / "log"
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """In a group of its own, so that Spark's processes die with it."""
        with self.log.open("ab") as log:
            made = subprocess.Popen(
                self._command(arguments),
                env=self._environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._started.append(made)
        return made

    def __call__(self, *arguments: str) -> Any:
        """What it printed as JSON, last."""
        done = subprocess.run(
            [*self._command(arguments), "--json"],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "penstock", "pipeline", *arguments]

    def end(self) -> None:
        for each in self._started:
            kill(each)


def kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=30)


@pytest.fixture
def pipeline(broker: BrokerProcess, tmp_path: Path) -> Iterator[Commands]:
    made = Commands(broker.address, tmp_path)
    yield made
    made.end()


def wait_until(is_so: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)


def send(client: WireClient, topic: str, numbers: range) -> None:
    producer = Producer(client, topic)
    for number in numbers:
        producer.send(b'{"number": %d' % number + (b"}" if number % 10 else b""))
    producer.flush()


def squares(client: WireClient, topic: str) -> list[int]:
    found = []
    for held in committed(client, f"{topic}.squares").values():
        for each in held:
            told = json.loads(each.value or b"")
            assert (each.key, told["square"]) == (b"%d" % told["number"], told["number"] ** 2)
            found.append(told["number"])
    return sorted(found)


def dead(client: WireClient, topic: str) -> list[int]:
    records = [
        each for held in committed(client, f"{topic}.dead-letters").values() for each in held
    ]
    return sorted(int(re.findall(rb"\d+", each.value or b"")[0]) for each in records)


def be_killed(pipeline: Commands, process: subprocess.Popen[bytes]) -> None:
    kill(process)
    assert pipeline("status", "copy")["state"] == "gone"


def be_stopped(pipeline: Commands, process: subprocess.Popen[bytes]) -> None:
    assert pipeline("stop", "copy") == {"name": "copy", "state": "stopped"}
    assert process.wait(timeout=30) == 0, pipeline.log.read_text()


ENDS = {"killed": be_killed, "stopped": be_stopped}


@pytest.mark.parametrize("end", cases(ENDS, ["stopped"], ENDS))
def test_a_pipeline_that_has_ended_goes_on_exactly_where_it_was(
    spark: SparkSession,
    broker: BrokerProcess,
    client: WireClient,
    topic: str,
    pipeline: Commands,
    tmp_path: Path,
    end: Callable[[Commands, subprocess.Popen[bytes]], None],
) -> None:
    for name in (topic, f"{topic}.squares", f"{topic}.dead-letters"):
        admin.create_topic(client, name, partitions=2)
    declared = DECLARED.replace("TOPIC", topic)
    (tmp_path / "copy.toml").write_text(FIRST + declared)
    send(client, topic, range(400))
    running = pipeline.start("run", str(tmp_path / "copy.toml"), "--master", "local[2]")
    wait_until(lambda: len(squares(client, topic)) > 60, pipeline.log)
    (listed,) = pipeline("list")
    assert (listed["name"], listed["state"], listed["pid"]) == ("copy", "running", running.pid)
    assert listed["progress"]["batches"] > 0
    end(pipeline, running)
    assert len(squares(client, topic)) < 360, "it ended in the middle"

    send(client, topic, range(400, 410))
    (tmp_path / "copy.toml").write_text(declared)
    last = ("pipeline", "run", str(tmp_path / "copy.toml"), "--once")
    done = run(broker.address, *last, "--state", str(tmp_path / "state"))
    assert "lag 0" in done.output
    assert pipeline("status", "copy")["state"] == "done"
    wait_until(lambda: not open_transactions(client), pipeline.log)
    assert squares(client, topic) == [each for each in range(410) if each % 10]
    assert dead(client, topic) == [*range(0, 410, 10)]
