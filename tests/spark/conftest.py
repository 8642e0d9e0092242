"""One Spark on two cores for all of these tests of a process."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from tests.spark.standalone import Standalone, running

from penstock.spark.session import session
from penstock.spark.tables.topic_table import TableFormat

os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
"""Nothing here runs for so long that compiling it well pays; for the Java of processes, too."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first, a whole cluster: a worker that began with it in the end would
    have the other one wait."""
    items.sort(key=lambda item: "standalone" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    settings = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}
    made = session("local[2]", "tests", settings)
    made.sparkContext.setLogLevel("ERROR")
    yield made
    made.stop()


@pytest.fixture(scope="session")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """A cluster with two workers. Drivers on it are processes of their own."""
    with running(tmp_path_factory.mktemp("standalone"), workers=2) as made:
        yield made


@pytest.fixture(params=list(TableFormat))
def form(request: pytest.FixtureRequest) -> TableFormat:
    """Each test that asks for it runs with tables of every format."""
    found: TableFormat = request.param
    return found
