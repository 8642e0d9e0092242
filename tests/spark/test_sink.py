"""Topics written by Spark: tables and streams, each row once, whoever is killed on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from tests.broker_process import BrokerProcess
from tests.lanes import in_chaos
from tests.spark import sink_driver
from tests.spark.records import check_copy, check_same, in_topic, unordered
from tests.spark.topic_reading import open_transactions, values, wait_until
from tests.spark.worker_process import ROOT

from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.client.offsets import LATEST, ends
from penstock.client.producer import Producer

DRIVER = Path(sink_driver.__file__)

pytestmark = pytest.mark.timeout(300)  # Spark takes its time where others work, too


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


def send(client: WireClient, topic: str, numbers: range, size: int = 0) -> None:
    producer = Producer(client, topic)
    for number in numbers:
        producer.send(
            None if number == 3 else (b"value %d " % number).ljust(size, b"."),
            None if number == 5 else b"key %d" % number,
            ((b"tag", b"%d" % number), (b"none", None)) if number % 2 else (),
            timestamp_ms=1_000_000 + number,
        )
    producer.flush()


def table(spark: SparkSession, address: str, topic: str) -> DataFrame:
    options = {"bootstrapServers": address, "subscribe": topic, "includeHeaders": "true"}
    return spark.read.format("penstock").options(**options).load()


def append(rows: DataFrame, address: str, **options: str) -> None:
    writer = rows.write.format("penstock").mode("append")
    writer.options(bootstrapServers=address, **options).save()


def test_what_is_written_is_what_was_read(
    spark: SparkSession, client: WireClient, broker: BrokerProcess, topic: str
) -> None:
    """Keys, values, headers, timestamps, partitions, and the order within each."""
    copy = f"{topic}-copy"
    for name in (topic, copy):
        admin.create_topic(client, name, partitions=3)
    send(client, topic, range(100))
    append(table(spark, broker.address, topic), broker.address, topic=copy, compression="zstd")
    wait_until(lambda: not open_transactions(client))
    check_copy(in_topic(client, copy), in_topic(client, topic))


def test_rows_go_to_the_topic_they_name_and_keys_where_producers_send_them(
    spark: SparkSession, client: WireClient, broker: BrokerProcess, topic: str
) -> None:
    for name in (f"{topic}-0", f"{topic}-1", topic):
        admin.create_topic(client, name, partitions=3)
    send(client, topic, range(6, 40))
    rows = table(spark, broker.address, topic).selectExpr(
        "cast(key as string) key", "cast(value as string) value", "timestamp", "headers",
        f"concat('{topic}-', cast(substring(cast(key as string), -1) % 2 as int)) topic",
    )  # fmt: skip
    append(rows, broker.address)
    wait_until(lambda: not open_transactions(client))
    even, odd = (in_topic(client, f"{topic}-{number}") for number in (0, 1))
    check_same(unordered(even + odd), unordered(in_topic(client, topic)))
    assert all(int((each.key or b"")[-1:]) % 2 == 0 for each in even)


def test_a_job_that_fails_leaves_nothing_behind(
    spark: SparkSession, client: WireClient, broker: BrokerProcess, topic: str
) -> None:
    admin.create_topic(client, topic)
    cloudpickle.register_pickle_by_value(sink_driver)  # type: ignore[no-untyped-call]  # workers know nothing of tests
    with pytest.raises(PySparkException, match="on fire"):
        sink_driver.write_table(spark, broker.address, topic, attempts=4)
    wait_until(lambda: not open_transactions(client))
    assert ends(client, topic, [0], LATEST)[0] > 0, "something was written"
    assert values(client, topic) == []


def test_what_a_task_opens_while_its_job_fails_is_aborted_too(
    spark: SparkSession, client: WireClient, broker: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    """Spark aborts the job at once, and ends the other task only two seconds later: mostly when it
    has written."""
    admin.create_topic(client, topic)
    cloudpickle.register_pickle_by_value(sink_driver)  # type: ignore[no-untyped-call]
    with pytest.raises(PySparkException, match="on fire"):
        sink_driver.write_late(spark, broker.address, topic, tmp_path / "aborting")
    assert not open_transactions(client)
    assert values(client, topic) == []


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        (["id value"], {"topic": "t"}, "column value has type bigint"),
        (["'a' value"], {}, "Give the option topic"),
        (["'a' value", "cast(null as string) topic"], {}, "column topic is null"),
        (["'a' value", "7 partition"], {"topic": "penstock-here"}, "no partition 7, only 0 to 0"),
        (["'a' value"], {"topic": "t", "delivry": "x"}, "did you mean delivery"),
    ],
)
def test_what_is_wrong_is_said(
    spark: SparkSession,
    client: WireClient,
    broker: BrokerProcess,
    columns: list[str],
    options: dict[str, str],
    said: str,
) -> None:
    with pytest.raises(PySparkException, match=said):
        append(spark.range(1).selectExpr(*columns), broker.address, **options)
    assert not open_transactions(client)


def test_a_topic_is_not_overwritten(spark: SparkSession, broker: BrokerProcess) -> None:
    rows = spark.range(1).selectExpr("'a' value").write.format("penstock").mode("overwrite")
    with pytest.raises(PySparkException, match="give mode append"):
        rows.options(bootstrapServers=broker.address, topic="t").save()


def test_a_stream_goes_on_where_it_stood(
    spark: SparkSession, client: WireClient, broker: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    copy = f"{topic}-copy"
    for name in (topic, copy):
        admin.create_topic(client, name, partitions=2)

    def run() -> None:
        given = {"bootstrapServers": broker.address, "subscribe": topic, "includeHeaders": "true"}
        bounds = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "300"}
        rows = spark.readStream.format("penstock").options(**given, **bounds).load()
        writer = rows.writeStream.format("penstock").trigger(availableNow=True)
        writer.options(bootstrapServers=broker.address, topic=copy)
        writer.option("checkpointLocation", str(tmp_path)).start().awaitTermination()

    send(client, topic, range(400))
    run()
    send(client, topic, range(400, 450))
    run()
    wait_until(lambda: not open_transactions(client))
    check_copy(in_topic(client, copy), in_topic(client, topic))


@pytest.fixture
def driver(
    broker: BrokerProcess, topic: str, tmp_path: Path
) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Its workers need the tests' code, too."""
    started: list[subprocess.Popen[bytes]] = []
    paths = {**os.environ, "PYTHONPATH": str(ROOT)}

    def start() -> subprocess.Popen[bytes]:
        with (tmp_path / "driver.log").open("wb") as log:
            command = [sys.executable, str(DRIVER), broker.address, topic, str(tmp_path)]
            made = subprocess.Popen(
                command, stderr=log, stdout=log, start_new_session=True, env=paths
            )
        started.append(made)
        return made

    yield start
    for each in started:
        if each.poll() is None:
            os.killpg(each.pid, signal.SIGKILL)
        each.wait(timeout=30)


def write_lines(folder: Path, *files: int) -> None:
    (folder / "lines").mkdir(exist_ok=True)
    for number in files:
        (folder / f"new-{number}").write_bytes(
            b"".join(map(line, range(150 * number, 150 * (number + 1))))
        )
        (folder / f"new-{number}").rename(folder / "lines" / f"{number}")


def line(number: int) -> bytes:
    return (b"line %d " % number).ljust(6000, b".") + b"\n"


@in_chaos
def test_a_driver_that_is_killed_anywhere_writes_each_row_once(
    spark: SparkSession,
    client: WireClient,
    broker: BrokerProcess,
    topic: str,
    driver: Callable[[], subprocess.Popen[bytes]],
    tmp_path: Path,
) -> None:
    targets = {place: f"{topic}-{place}" for place in sink_driver.PLACES}
    for name in (f"{topic}-table", *targets.values()):
        admin.create_topic(client, name, partitions=2)
    write_lines(tmp_path, 0, 1, 2, 3)
    killed = driver()
    stands = [tmp_path / name for name in (*targets, "table")]
    wait_until(lambda: all(map(Path.exists, stands)) or killed.poll() is not None, 200)
    assert killed.poll() is None, (tmp_path / "driver.log").read_text()
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait(timeout=30)

    assert len(open_transactions(client)) >= 2 + 2 + 1, "and what tasks may have in hand"
    assert len(values(client, targets["after-the-ends"])) == 600
    assert len(values(client, targets["before-the-ends"])) == 300, "of its first batch only"
    write_lines(tmp_path, 4, 5)
    again = [
        sink_driver.copy(spark, broker.address, str(tmp_path), name, "penstock")
        .trigger(availableNow=True)
        .start()
        for name in targets.values()
    ]
    for query in again:
        query.awaitTermination()
    wait_until(lambda: not open_transactions(client))
    lines = sorted(line(number).strip() for number in range(900))
    for place, name in targets.items():
        assert values(client, name) == lines, place
    written = sorted((b"v%d " % number).ljust(6000, b".") for number in range(200))
    assert values(client, f"{topic}-table") == written, "a task that is repeated doubles nothing"
