"""Brokers for groups whose consumers die, a stage for a group, and a cluster that tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.cluster_process import Cluster
from tests.group_stage import QUICK_BROKER, Stage
from tests.reduction_stage import Groups, Reader


@pytest.fixture(scope="session")
def quick_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One broker that soon takes a silent consumer for dead."""
    running = BrokerProcess(tmp_path_factory.mktemp("quick-broker") / "data", *QUICK_BROKER).start()
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.log


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Callable[[BrokerProcess, str], Stage]]:
    """Makes groups of worker processes, which end with the test."""
    made: list[Stage] = []

    def make(broker: BrokerProcess, group: str) -> Stage:
        made.append(Stage(tmp_path, broker.address, group))
        return made[-1]

    yield make
    for each in made:
        each.end()


@pytest.fixture(scope="session")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running = Cluster(tmp_path_factory.mktemp("cluster")).start(3)
    yield running
    running.end()
    running.check_lines()


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Iterator[Cluster]:
    """Three brokers on one SQLite file. Tests may harm them: afterwards they are mended."""
    yield shared_cluster
    shared_cluster.mend()


@pytest.fixture
def groups() -> Iterator[Callable[[str, str], Groups]]:
    """A group of each protocol that reads a topic until the test is over."""
    made: list[Groups] = []

    def make(address: str, topic: str) -> Groups:
        made.append(Groups(address, topic))
        return made[-1]

    yield make
    for each in made:
        each.finish()


@pytest.fixture
def reader() -> Iterator[Callable[..., Reader]]:
    """A consumer that reads until the test is over."""
    made: list[Reader] = []

    def make(*given: Any) -> Reader:
        made.append(Reader(*given))
        return made[-1]

    yield make
    for each in made:
        each.finish()
