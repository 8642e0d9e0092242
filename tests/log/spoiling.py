"""A log of many small batches, ways to spoil it, and what can be read of it then."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.log.making import TOPIC_ID
from tests.log.timing import patient_headers

from penstock.config import TopicConfig
from penstock.errors import ErrorCode, Refused
from penstock.log.index_cache import IndexCache
from penstock.log.partition_log import PartitionLog
from penstock.wire.batch import read_header, size_at
from penstock.world.real_disk import RealDisk

INDEXED = TopicConfig(segment_bytes=4096, index_interval_bytes=300, retention_ms=10_000)
COUNT = 60


def started(disk: RealDisk, folder: Path, indexes: IndexCache | None = None) -> PartitionLog:
    """After a clean stop."""
    log = PartitionLog(disk, str(folder), TOPIC_ID, INDEXED, indexes)
    log.end_offset = log.written_end = log.synced_end = log.recovery_point = COUNT
    return log


def files(folder: Path, kind: str) -> list[Path]:
    return sorted(folder.glob(f"*{kind}"))


def break_batch(path: Path, number: int) -> int:
    """Spoil the magic byte of a batch; its offset."""
    data, position = bytearray(path.read_bytes()), 0
    for _ in range(number):
        position += size_at(data, position)
    data[position + 16] = 0x42
    path.write_bytes(data)
    return read_header(data, position).base_offset


def assert_all_found_but(log: PartitionLog, bad: int, max_bytes: int = 500) -> None:
    for offset in range(COUNT):
        log.forget_marks()
        if offset == bad:
            with pytest.raises(Refused) as refused:
                patient_headers(log, offset, max_bytes)
            assert refused.value.code == ErrorCode.CORRUPT_MESSAGE
        else:
            assert patient_headers(log, offset, max_bytes)[0].base_offset == offset


def is_refused(log: PartitionLog, offset: int) -> bool:
    log.forget_marks()
    with pytest.raises(Refused) as refused:
        patient_headers(log, offset)
    return refused.value.code == ErrorCode.CORRUPT_MESSAGE
