"""kafkajs, a client for Node. `make compat` says so where node or npm is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.cluster_process import Cluster
from tests.compat.cluster_play import PARTITIONS, go_through_faults
from tests.compat.foreign import ForeignClient

HERE = Path(__file__).parent / "js"


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("js")
    shutil.copy(HERE / "package.json", folder)
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder)]
    subprocess.run(command, check=True, timeout=300)
    return folder / "node_modules"


@pytest.mark.timeout(600)
def test_javascript_clients_lose_and_double_nothing_when_brokers_die_restart_and_join(
    own_cluster: Callable[..., Cluster],
    foreign: Callable[..., ForeignClient],
    modules: Path,
    topic: str,
) -> None:
    cluster = own_cluster().start(3)
    cluster.create(topic, PARTITIONS)
    command = ["node", HERE / "cluster.js", cluster.address, topic, PARTITIONS]
    client = foreign(command, NODE_PATH=modules)
    go_through_faults(cluster, client, "classic")


@pytest.mark.timeout(300)
def test_a_javascript_group_reads_what_matches_of_a_view(
    broker: BrokerProcess, modules: Path, topic: str
) -> None:
    check_runs(modules, "view.js", broker.address, topic)


@pytest.mark.timeout(300)
def test_javascript_clients_send_cancel_and_read_messages_for_later(
    broker: BrokerProcess, modules: Path, topic: str
) -> None:
    check_runs(modules, "delay.js", broker.address, topic)


def check_runs(modules: Path, program: str, *arguments: str) -> None:
    command = ["node", str(HERE / program), *arguments]
    environment = {**os.environ, "NODE_PATH": str(modules)}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=200, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "all well\n"
