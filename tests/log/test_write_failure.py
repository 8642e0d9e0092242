"""A disk without space: what could not be written is as if it had never been appended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.log.making import NOW_MS, TOPIC_ID, FullDisk, a_batch, all_values, opened, put

from penstock.config import TopicConfig
from penstock.log.partition_log import PartitionLog
from penstock.wire import batch as batches


@pytest.fixture
def disk() -> Iterator[FullDisk]:
    disk = FullDisk()
    yield disk
    disk.close()


def append(log: PartitionLog, sequence: int, value: bytes, epoch: int = 1) -> None:
    batch = a_batch(value, producer_id=7, producer_epoch=0, base_sequence=sequence)
    log.append(batch, batches.read_header(batch), NOW_MS, epoch)


def test_a_failed_write_leaves_the_log_as_it_was(disk: FullDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig(index_interval_bytes=0))
    for sequence in range(3):
        append(log, sequence, b"kept")
    log.write_out()
    size, entries = log.size_bytes, len(log.segments[0].offsets or ())
    for sequence in range(3, 6):
        append(log, sequence, b"lost", epoch=2)
    disk.is_full = True
    with pytest.raises(OSError, match="no space"):
        log.write_out()
    disk.is_full = False
    assert (log.end_offset, log.size_bytes, log.latest_epoch) == (3, size, 1)
    assert len(log.segments[0].offsets or ()) == entries
    assert all_values(log) == [(0, b"kept"), (1, b"kept"), (2, b"kept")]
    append(log, 3, b"new")
    log.write_out()
    assert all_values(log)[-1] == (3, b"new")
    assert all_values(opened(disk, str(folder))) == all_values(log)


def test_the_first_write_of_all_may_fail(disk: FullDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    append(log, 0, b"lost")
    disk.is_full = True
    with pytest.raises(OSError, match="no space"):
        log.write_out()
    disk.is_full = False
    assert (log.end_offset, log.producers.producers) == (0, {})
    append(log, 0, b"first")
    log.write_out()
    assert all_values(log) == [(0, b"first")]


def test_a_failure_while_rolling_fails_the_append(disk: FullDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig(segment_bytes=1024))
    put(log, b"x" * 100)
    append(log, 0, b"y" * 700)
    disk.is_full = True
    with pytest.raises(OSError, match="no space"):
        append(log, 1, b"z" * 700)
    disk.is_full = False
    assert (log.end_offset, len(log.segments)) == (1, 1)
    append(log, 0, b"y" * 700)
    append(log, 1, b"z" * 700)
    log.write_out()
    assert len(log.segments) == 2
    assert [offset for offset, _ in all_values(log)] == [0, 1, 2]
    assert all_values(opened(disk, str(folder))) == all_values(log)
