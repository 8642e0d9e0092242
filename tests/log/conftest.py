from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.log.making import TOPIC_ID

from penstock.config import TopicConfig
from penstock.log.partition_log import PartitionLog
from penstock.world.real_disk import RealDisk


@pytest.fixture
def disk() -> Iterator[RealDisk]:
    disk = RealDisk()
    yield disk
    disk.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "orders-0"


@pytest.fixture
def log(disk: RealDisk, folder: Path) -> PartitionLog:
    return PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
