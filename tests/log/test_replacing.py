"""Putting a compacted segment in place of others, and crashing meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.log.making import TOPIC_ID, all_values, copied, opened, put, settle, split

from penstock.config import TopicConfig
from penstock.log.partition_log import PartitionLog
from penstock.log.replacing import begin_replacement, replace_segments
from penstock.log.segment import Segment
from penstock.wire import batch as batches
from penstock.world.real_disk import RealDisk

SMALL_SEGMENTS = TopicConfig(segment_bytes=1024, index_interval_bytes=100)


@pytest.fixture
def full(disk: RealDisk, folder: Path) -> PartitionLog:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for number in range(40):
        put(log, b"%03d" % number * 20)
    settle(log)
    return log


def compacted(log: PartitionLog, old: list[Segment]) -> Segment:
    """Every other batch of these segments."""
    new = begin_replacement(log, old[0].base)
    for segment in old:
        for batch in split(segment.file.read(0, segment.size)):
            header = batches.read_header(batch)
            if header.base_offset % 2:
                new.file.append([batch])
                new.note(header.last_offset, header.size, header.max_timestamp, 100)
    new.write_indexes()
    new.file.sync()
    return new


def test_what_is_left_can_be_read_and_survives(
    full: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    old = full.segments[:3]
    limit = full.segments[3].base
    files = replace_segments(full, old, compacted(full, old))
    wanted = [(n, b"%03d" % n * 20) for n in range(40) if n % 2 or n >= limit]
    assert all_values(full) == wanted
    for offset in range(limit):
        found = full.read(offset, 10, 40)
        assert found is not None
        assert found.next_offset == (offset | 1) + 1
    assert len(files) == 9
    assert all_values(opened(disk, str(folder), SMALL_SEGMENTS, 40)) == wanted


def test_a_crash_at_any_rename_leaves_the_old_or_the_new(
    full: PartitionLog,
    disk: RealDisk,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = full.segments[:3]
    limit = full.segments[3].base
    before = all_values(full)
    after = [(o, v) for o, v in before if o % 2 or o >= limit]
    copies: list[Path] = []
    rename = Segment.rename

    def watched(segment: Segment, suffix: str) -> list[str]:
        copies.append(copied(folder, tmp_path / f"copy{len(copies)}-0"))
        return rename(segment, suffix)

    monkeypatch.setattr(Segment, "rename", watched)
    replace_segments(full, old, compacted(full, old))
    results = [all_values(opened(disk, str(copy), SMALL_SEGMENTS, 40)) for copy in copies]
    assert results == [before, after, after, after, after]
