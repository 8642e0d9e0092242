"""franz-go, the client for Go. `make compat` says so where go is missing or too old."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cluster_process import Cluster
from tests.compat.cluster_play import PARTITIONS, go_through_faults
from tests.compat.foreign import ForeignClient

HERE = Path(__file__).parent / "go"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("go") / "client"
    command = ["go", "-C", str(HERE), "build", "-o", str(path), "."]
    subprocess.run(command, check=True, timeout=300, env=os.environ | {"GOTOOLCHAIN": "local"})
    return path


@pytest.mark.timeout(600)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_go_clients_lose_and_double_nothing_when_brokers_die_restart_and_join(
    own_cluster: Callable[..., Cluster],
    foreign: Callable[..., ForeignClient],
    program: Path,
    topic: str,
    protocol: str,
) -> None:
    cluster = own_cluster().start(3)
    cluster.create(topic, PARTITIONS)
    client = foreign([program, cluster.address, topic, protocol])
    go_through_faults(cluster, client, protocol)
