"""Batches, logs and disks for the tests of the log."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.config import TopicConfig
from penstock.log.log_dir import LogDir
from penstock.log.partition_log import Appended, PartitionLog
from penstock.log.recovery import recover
from penstock.wire import batch as batches
from penstock.wire.batch import BatchHeader
from penstock.wire.batch_builder import build_batch, end_marker, read_records
from penstock.wire.records import Record
from penstock.world.ports import Buffer
from penstock.world.real_disk import RealDisk
from penstock.world.real_file import RealFile

NOW_MS = 1_700_000_000_000
TOPIC_ID = bytes(range(16))
OTHER_ID = bytes(range(16, 32))
EVERYTHING = 1 << 30


def a_batch(*values: bytes, at_ms: int | Sequence[int] = NOW_MS, **more: Any) -> bytearray:
    times = [at_ms] * len(values) if isinstance(at_ms, int) else at_ms
    records = [
        Record(number, time_ms, b"k%d" % number, value)
        for number, (value, time_ms) in enumerate(zip(values, times, strict=True))
    ]
    return build_batch(records, **more)


def put(
    log: PartitionLog, *values: bytes, epoch: int = 0, now_ms: int = NOW_MS, **more: Any
) -> Appended:
    """Append a batch of these values and write it out."""
    batch = a_batch(*values, **more)
    done = log.append(batch, batches.read_header(batch), now_ms, epoch)
    log.write_out()
    return done


def put_marker(
    log: PartitionLog, producer_id: int, *, commit: bool, epoch: int = 0, coordinator_epoch: int = 0
) -> Appended:
    batch = end_marker(
        producer_id, epoch, commit=commit, coordinator_epoch=coordinator_epoch, timestamp_ms=NOW_MS
    )
    done = log.append(batch, batches.read_header(batch), NOW_MS, 0)
    log.write_out()
    return done


def headers_at(
    log: PartitionLog, offset: int, max_bytes: int = EVERYTHING, before: int | None = None
) -> list[BatchHeader]:
    """Of the batches that one read gives."""
    return [batches.read_header(batch) for batch in batches_at(log, offset, max_bytes, before)]


def batches_at(
    log: PartitionLog, offset: int, max_bytes: int = EVERYTHING, before: int | None = None
) -> list[bytes]:
    found = log.read(offset, max_bytes, log.end_offset if before is None else before)
    if found is None:
        return []
    data = found.range.file.read(found.range.position, found.range.length)
    assert len(data) == found.range.length
    return split(data)


def split(data: bytes) -> list[bytes]:
    found: list[bytes] = []
    while data:
        size = batches.size_at(data)
        assert 0 < size <= len(data), "a slice must end at a boundary"
        batches.check(data[:size])
        found.append(data[:size])
        data = data[size:]
    return found


def all_values(log: PartitionLog, offset: int | None = None) -> list[tuple[int, bytes | None]]:
    """(offset, value) of every record from an offset on, read slice by slice."""
    at = log.start_offset if offset is None else offset
    found: list[tuple[int, bytes | None]] = []
    while at < log.end_offset:
        slice_ = log.read(at, EVERYTHING, log.end_offset, cold_ok=True)
        if slice_ is None:
            break
        data = slice_.range.file.read(slice_.range.position, slice_.range.length)
        for batch in split(data):
            found += [(r.offset, r.value) for r in read_records(batch, EVERYTHING)]
        at = slice_.next_offset
    return [pair for pair in found if pair[0] >= (log.start_offset if offset is None else offset)]


def settle(log: PartitionLog) -> None:
    """One round of syncing, without a loop."""
    token = log.begin_sync()
    for file in token.files:
        file.sync()
    for folder in token.folders:
        log.disk.sync_folder(folder)
    log.end_sync(token)


def opened(
    disk: RealDisk, folder: str, config: TopicConfig | None = None, recovery_point: int = 0
) -> PartitionLog:
    """A log on a folder, recovered as after a crash."""
    log = PartitionLog(disk, folder, TOPIC_ID, config or TopicConfig())
    log.recovery_point = recovery_point
    for _ in recover(log):
        pass
    return log


def a_folder(disk: RealDisk, path: Path, node_id: int = 1) -> LogDir:
    return LogDir(disk, str(path), cluster_id="cluster", node_id=node_id)


def copied(source: Path, target: Path) -> Path:
    """The folder as a crash at this moment would leave it."""
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(source, target)
    return target


class FullFile(RealFile):
    __slots__ = ()

    def append(self, parts: Sequence[Buffer]) -> None:
        disk = self._disk
        assert isinstance(disk, FullDisk)
        if not disk.is_full or not any(len(part) for part in parts):
            super().append(parts)
            return
        super().append(parts[:1])  # some of it gets through, as on a real disk
        self.truncate(self.size - len(parts[0]))
        raise OSError(errno.ENOSPC, "no space left")


class FullDisk(RealDisk):
    """A disk that can be made to have no space left."""

    is_full = False

    def open(self, path: str) -> RealFile:
        return FullFile(self, path)


class CountingFile(RealFile):
    __slots__ = ()

    def read(self, position: int, length: int) -> bytes:
        self._count()
        return super().read(position, length)

    def read_cached(self, position: int, length: int) -> bytes:
        self._count()
        return super().read_cached(position, length)

    def descriptor(self, create: bool = False) -> int:
        assert isinstance(self._disk, CountingDisk)
        self._disk.opened_paths.add(self.path)
        return super().descriptor(create)

    def _count(self) -> None:
        assert isinstance(self._disk, CountingDisk)
        self._disk.reads.append(self.path)


class CountingDisk(RealDisk):
    """A disk that remembers what was read of it."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[str] = []
        self.opened_paths: set[str] = set()

    def open(self, path: str) -> RealFile:
        return CountingFile(self, path)


class MeteredFile(RealFile):
    __slots__ = ()

    def read(self, position: int, length: int) -> bytes:
        return self._metered(super().read(position, length))

    def read_cached(self, position: int, length: int) -> bytes:
        return self._metered(super().read_cached(position, length))

    def _metered(self, data: bytes) -> bytes:
        assert isinstance(self._disk, MeteredDisk)
        self._disk.lengths.append(len(data))
        return data


class MeteredDisk(RealDisk):
    """A disk that remembers how much was read of it, one read after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.lengths: list[int] = []

    def open(self, path: str) -> RealFile:
        return MeteredFile(self, path)
