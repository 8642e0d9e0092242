"""A disk without space: what could not be written is as if it had never been appended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.log.failing import FailingDisk, nothing
from tests.log.making import (
    NOW_MS,
    TOPIC_ID,
    FullDisk,
    a_batch,
    all_values,
    opened,
    put,
    settle,
)

from penstock.config import TopicConfig
from penstock.errors import ErrorCode, Refused
from penstock.log import producer_snapshot
from penstock.log.index_cache import IndexCache
from penstock.log.partition_log import PartitionLog
from penstock.wire import batch as batches
from penstock.wire.batch_builder import end_marker


@pytest.fixture
def disk() -> Iterator[FullDisk]:
    disk = FullDisk()
    yield disk
    disk.close()


@pytest.fixture
def failing() -> Iterator[FailingDisk]:
    disk = FailingDisk()
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


def known(log: PartitionLog) -> list[object]:
    """All that a log knows of itself, apart from what it has to do next."""
    active, states = log.active, log.producers
    assert active is not None
    assert active.offsets is not None
    assert active.times is not None
    return [
        (log.start_offset, log.end_offset, log.synced_end, log.size_bytes, log.epochs.entries),
        (active.indexed_at, active.max_timestamp, active.max_timestamp_offset),
        (active.offsets.encode(), active.times.encode(), list(active.aborted or ())),
        {each.id: producer_snapshot.encode([each]) for each in states.settled()},
        (states.open_transactions(), states.first_unstable(0), states.before),
    ]


def append_in_transaction(
    log: PartitionLog, producer_id: int, sequence: int = 0, epoch: int = 1
) -> None:
    batch = a_batch(
        b"x", producer_id=producer_id, producer_epoch=0, base_sequence=sequence, transactional=True
    )
    log.append(batch, batches.read_header(batch), NOW_MS, epoch)


def append_marker(log: PartitionLog, producer_id: int, *, commit: bool) -> None:
    batch = end_marker(producer_id, 0, commit=commit, coordinator_epoch=3, timestamp_ms=NOW_MS)
    log.append(batch, batches.read_header(batch), NOW_MS, 3)


def append_all_sorts(log: PartitionLog) -> None:
    """Many more batches than are remembered, a new epoch, a new producer, transactions."""
    for sequence in range(4, 14):
        append(log, sequence, b"lost", epoch=2)
    batch = a_batch(b"x", at_ms=NOW_MS + 9, producer_id=7, producer_epoch=1, base_sequence=0)
    log.append(batch, batches.read_header(batch), NOW_MS + 5, 3)
    append_marker(log, 8, commit=False)
    append_marker(log, 9, commit=True)
    append_in_transaction(log, 8, sequence=1, epoch=3)
    append_in_transaction(log, 10, epoch=3)


def test_whatever_was_appended_a_failed_write_leaves_all_that_is_known_as_it_was(
    failing: FailingDisk, folder: Path
) -> None:
    log = PartitionLog(failing, str(folder), TOPIC_ID, TopicConfig(index_interval_bytes=0))
    for sequence in range(4):
        append(log, sequence, b"kept")
    append_in_transaction(log, 8)
    append_in_transaction(log, 9)
    settle(log)
    before = known(log)
    append_all_sorts(log)
    failing.fails = lambda _verb, _path: True  # whatever else is tried fails too
    with pytest.raises(OSError, match="cannot append"):
        log.write_out()
    failing.fails = nothing
    assert known(log) == before
    append_all_sorts(log)
    log.write_out()
    assert all_values(opened(failing, str(folder))) == all_values(log)


def test_a_sync_that_was_under_way_counts_although_a_later_write_failed(
    disk: FullDisk, folder: Path
) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    append(log, 0, b"kept")
    token = log.begin_sync()
    append(log, 1, b"lost")
    disk.is_full = True
    with pytest.raises(OSError, match="no space"):
        log.write_out()
    log.end_sync(token)
    assert log.synced_end == 1


def test_a_log_is_not_written_to_before_what_a_failed_write_left_is_cut_off(
    failing: FailingDisk, folder: Path
) -> None:
    log = PartitionLog(failing, str(folder), TOPIC_ID, TopicConfig())
    append(log, 0, b"kept")
    log.write_out()
    append(log, 1, b"lost")
    failing.fails = lambda verb, _: verb in {"finish", "truncate"}
    with pytest.raises(OSError, match="cannot finish"):
        log.write_out()
    with pytest.raises(Refused, match="cannot be cut off") as refused:
        append(log, 1, b"refused")
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    with pytest.raises(OSError, match="cannot truncate"):
        log.roll()
    assert all_values(log) == [(0, b"kept")]
    failing.fails = nothing
    append(log, 1, b"new")
    log.write_out()
    assert all_values(log) == [(0, b"kept"), (1, b"new")]
    assert len(log.segments) == 1
    assert all_values(opened(failing, str(folder))) == all_values(log)


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".snapshot"])
def test_a_roll_that_fails_leaves_the_segment_in_use(
    failing: FailingDisk, folder: Path, suffix: str
) -> None:
    config, indexes = TopicConfig(index_interval_bytes=0), IndexCache(limit_entries=1)
    log = PartitionLog(failing, str(folder), TOPIC_ID, config, indexes)
    append(log, 0, b"first")
    failing.fails = lambda verb, path: verb == "append" and path.endswith(suffix)
    for _ in range(3):
        with pytest.raises(OSError, match=suffix):
            log.roll()
    failing.fails = nothing
    assert (len(log.segments), log.rolled) == (1, [])
    indexes.remember(opened(failing, str(folder)).segments[0])  # drives out any other
    append(log, 1, b"second")
    log.roll()
    append(log, 2, b"third")
    settle(log)
    assert [segment.base for segment in log.segments] == [0, 2]
    assert [offset for offset, _ in all_values(log)] == [0, 1, 2]


def test_a_roll_that_fails_leaves_an_empty_segment_in_use(
    failing: FailingDisk, folder: Path
) -> None:
    log = PartitionLog(failing, str(folder), TOPIC_ID, TopicConfig())
    put(log, b"first")
    log.roll().file.append([])
    failing.fails = lambda verb, _: verb == "remove"
    with pytest.raises(OSError, match="cannot remove"):
        log.roll()
    failing.fails = nothing
    put(log, b"second")
    assert [segment.base for segment in log.segments] == [0, 1]
    assert [offset for offset, _ in all_values(log)] == [0, 1]


def test_a_new_folder_is_synced_with_its_first_records_although_making_it_failed_once(
    failing: FailingDisk, folder: Path
) -> None:
    log = PartitionLog(failing, str(folder), TOPIC_ID, TopicConfig())
    failing.fails = lambda verb, path: verb == "append" and path.endswith("partition.metadata")
    with pytest.raises(OSError, match="cannot append"):
        append(log, 0, b"lost")
    failing.fails = nothing
    append(log, 0, b"first")
    token = log.begin_sync()
    assert set(token.folders) == {str(folder), str(folder.parent)}
    assert (folder / "partition.metadata").stat().st_size
