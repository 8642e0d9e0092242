from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.log.making import NOW_MS, TOPIC_ID, put, settle
from tests.log.spoiling import COUNT, INDEXED

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


@pytest.fixture
def filled(disk: RealDisk, folder: Path) -> Path:
    """Sixty records, a second apart, in segments of about twenty; cleanly closed."""
    log = PartitionLog(disk, str(folder), TOPIC_ID, INDEXED)
    for number in range(COUNT):
        put(log, b"%03d" % number * 30, at_ms=NOW_MS + number * 1000)
    assert len(log.segments) > 2
    settle(log)
    log.close()
    return folder
