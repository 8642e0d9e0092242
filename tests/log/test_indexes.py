"""The files beside the batches, byte by byte as Kafka has them."""

from __future__ import annotations

from pathlib import Path
from struct import unpack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.log.making import TOPIC_ID, headers_at, put

from penstock.config import TopicConfig
from penstock.errors import Unusable
from penstock.log import aborted_index, leader_epochs
from penstock.log.aborted_index import AbortedTxn
from penstock.log.index_cache import IndexCache
from penstock.log.leader_epochs import EpochStart, LeaderEpochs
from penstock.log.offset_index import OffsetIndex
from penstock.log.partition_log import PartitionLog
from penstock.log.time_index import TimeIndex
from penstock.world.real_disk import RealDisk

SMALL_SEGMENTS = TopicConfig(segment_bytes=1024, index_interval_bytes=100)
int32s = st.integers(1, 2**31 - 1)


@given(st.lists(int32s, unique=True), st.data())
def test_an_offset_index_reads_back_what_it_wrote(lasts: list[int], data: st.DataObject) -> None:
    size = st.lists(int32s, min_size=len(lasts), max_size=len(lasts), unique=True)
    index = OffsetIndex()
    for last, position in zip(sorted(lasts), sorted(data.draw(size)), strict=True):
        index.add(last, position)
    again = OffsetIndex.decode(index.encode(), 2**31)
    assert again is not None
    assert (again.lasts, again.positions) == (index.lasts, index.positions)


@given(st.lists(st.tuples(st.integers(-1, 2**62), int32s)))
def test_a_time_index_reads_back_what_it_wrote(entries: list[tuple[int, int]]) -> None:
    index = TimeIndex()
    for (timestamp, _), offset in zip(entries, sorted(o for _, o in entries), strict=True):
        index.add(timestamp, offset)
    again = TimeIndex.decode(index.encode())
    assert again is not None
    assert (again.timestamps, again.offsets) == (index.timestamps, index.offsets)


def test_index_files_have_kafkas_layout(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS)
    for number in range(20):
        put(log, b"x" * 100, b"y", at_ms=1000 + number)
    first = log.segments[0]
    offsets = Path(first.prefix + ".index").read_bytes()
    sizes = [header.size for header in headers_at(log, 0)]
    last, position = unpack(">ii", offsets[:8])
    assert (last, position) == (3, sizes[0])
    times = Path(first.prefix + ".timeindex").read_bytes()
    assert unpack(">qi", times[:12]) == (1001, 3)
    assert unpack(">qi", times[-12:]) == (1000 + len(sizes) - 1, 2 * len(sizes) - 1)


def test_an_index_that_cannot_be_one_is_not_believed() -> None:
    assert OffsetIndex.decode(b"1234567", 100) is None
    assert OffsetIndex.decode(bytes(8), 100) is None
    assert OffsetIndex.decode(b"\0\0\0\5\0\0\0\5", 5) is None
    assert TimeIndex.decode(bytes(13)) is None


def test_aborted_transactions_take_34_bytes_each_and_newer_versions_are_refused() -> None:
    entries = [AbortedTxn(1, 2, 3, 4), AbortedTxn(5, 6, 7, 8)]
    data = aborted_index.encode(entries)
    assert len(data) == 68
    assert aborted_index.decode(data, "x") == entries
    assert aborted_index.decode(data[:-1], "x") is None
    with pytest.raises(Unusable, match="version 1"):
        aborted_index.decode(b"\0\1" + data[2:], "x")


class Counted(list[AbortedTxn]):
    looked_at = 0

    def __getitem__(self, at: Any) -> Any:
        self.looked_at += 1
        return super().__getitem__(at)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=30), st.data())
def test_aborted_transactions_are_found_by_the_records_they_have(
    lengths: list[tuple[int, int]], data: st.DataObject
) -> None:
    """One after the other, with gaps."""
    entries, at = [], 0
    for gap, length in lengths:
        first, last = at + gap, at + gap + length
        entries.append(AbortedTxn(1, first, last, last + 1))
        at = last + 1
    start = data.draw(st.integers(0, at + 1))
    end = data.draw(st.integers(start, at + 1))
    found, _ = aborted_index.overlapping(entries, start, end)
    wanted = [each for each in entries if each.last_offset >= start and each.first_offset < end]
    assert found == wanted


def test_of_many_aborted_transactions_only_a_few_are_looked_at() -> None:
    entries = Counted(AbortedTxn(1, 2 * at, 2 * at + 1, 2 * at + 2) for at in range(10_000))
    found, is_complete = aborted_index.overlapping(entries, 10_000, 10_010)
    assert [each.first_offset for each in found] == [10_000, 10_002, 10_004, 10_006, 10_008]
    assert is_complete
    assert entries.looked_at < 50


def test_loaded_indexes_of_finished_segments_are_bounded(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL_SEGMENTS, IndexCache(limit_entries=200))
    for _ in range(100):
        put(log, b"x" * 100)
    for offset in range(100):
        assert headers_at(log, offset)[0].base_offset == offset
    loaded = [s for s in log.segments[:-1] if s.offsets is not None]
    assert 0 < len(loaded) < 4


def test_epochs_answer_with_the_largest_one_at_or_below() -> None:
    epochs = LeaderEpochs()
    for epoch, start in ((2, 0), (5, 10), (9, 20)):
        epochs.assign(epoch, start)
    assert epochs.end_offset_for(9, 33) == (9, 33)
    assert epochs.end_offset_for(5, 33) == (5, 20)
    assert epochs.end_offset_for(7, 33) == (5, 20)
    assert epochs.end_offset_for(1, 33) == (1, 0)
    assert epochs.end_offset_for(10, 33) == (-1, -1)
    assert epochs.end_offset_for(-1, 33) == (-1, -1)
    assert [epochs.epoch_at(offset) for offset in (0, 10, 19, 25)] == [2, 5, 5, 9]


def test_epochs_that_contradict_a_new_one_go() -> None:
    epochs = LeaderEpochs([EpochStart(2, 0), EpochStart(5, 10), EpochStart(6, 20)])
    epochs.assign(7, 10)
    assert epochs.entries == [(2, 0), (7, 10)]


def test_epochs_read_back_what_they_wrote_and_newer_files_are_refused() -> None:
    epochs = LeaderEpochs([EpochStart(2, 0), EpochStart(5, 10)])
    assert epochs.encode().decode().split() == ["0", "2", "2", "0", "5", "10"]
    again = leader_epochs.decode(epochs.encode(), "x")
    assert again is not None
    assert again.entries == epochs.entries
    for text in (b"0\n3\n2 0\n", b"0\n2\n2 0\n2 5\n", b"0\n2\n2 5\n3 4\n", b"0\n1\n2 0"):
        assert leader_epochs.decode(text, "x") is None
    with pytest.raises(Unusable):
        leader_epochs.decode(b"1\n0\n", "x")
