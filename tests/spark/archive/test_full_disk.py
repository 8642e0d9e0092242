"""A table's disk without room: that is said, the table is as it was, and it goes on with room."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.spark.worker_process import ROOT

from penstock.client import admin
from penstock.client.cluster import WireClient

WORKER = (sys.executable, "-m", "tests.spark.full_disk_worker")
OWN_MOUNT = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")


def work(command: tuple[str, ...]) -> None:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr


def mounting(folder: Path) -> tuple[str, ...]:
    """A command that has a disk of its own there, of one megabyte."""
    return (*OWN_MOUNT, f'mount -t tmpfs -o size=1m tmpfs {folder} && exec "$0" "$@"')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "disk").mkdir()
    return tmp_path / "disk"


def test_an_archive_on_a_full_disk_says_so_and_goes_on_when_there_is_room(
    broker: BrokerProcess, topic: str, folder: Path
) -> None:
    try:
        work((*mounting(folder), "true"))
    except (OSError, AssertionError) as error:
        pytest.skip(f"no disk can be mounted here: {error}")
    with WireClient(broker.address) as client:
        admin.create_topic(client, topic, partitions=2)
    work((*mounting(folder), *WORKER, "tmpfs", broker.address, topic, str(folder)))


def test_an_archive_that_may_not_write_says_so_and_goes_on_when_it_may(
    broker: BrokerProcess, topic: str, folder: Path
) -> None:
    """A limit on the size of files, which there is everywhere."""
    with WireClient(broker.address) as client:
        admin.create_topic(client, topic, partitions=2)
    work((*WORKER, "limit", broker.address, topic, str(folder)))
