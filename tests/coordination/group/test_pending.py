"""Offsets in transactions: what is in memory is what the log says, also once it is compacted."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.log.compacting import WITHOUT_RETENTION, compact
from tests.log.making import NOW_MS, TOPIC_ID, put_marker

from penstock.coordination.group.groups import Groups
from penstock.coordination.group.offsets import every
from penstock.coordination.loading import load
from penstock.coordination.turn import Event
from penstock.log.partition_log import PartitionLog
from penstock.metadata.internal_topics import OFFSETS
from penstock.server.steps import carry_out, wait_on
from penstock.wire.batch import read_header
from penstock.wire.batch_builder import build_batch
from penstock.wire.records import Record
from penstock.wire.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from penstock.world.real_disk import RealDisk

Seen = tuple[dict[tuple[str, int], int], dict[tuple[str, int], bool]]

LATER_MS = NOW_MS + 365 * 24 * 3_600_000


class Journal:
    """A log of offsets, and the groups that are made of it as it is written."""

    def __init__(self, disk: RealDisk, folder: Path) -> None:
        self.disk = disk
        self.log = PartitionLog(disk, str(folder / "log-0"), TOPIC_ID, WITHOUT_RETENTION)
        self.groups = Groups()

    def write(self, group: str, partitions: dict[int, int | None], producer: int = -1) -> None:
        """Offsets, or ends where there is none; of a producer's transaction if it is given."""
        events = [
            Event(
                OffsetCommitKey(group, "orders", index),
                None if offset is None else OffsetCommitValue(offset),
            )
            for index, offset in partitions.items()
        ]
        records = [Record(at, NOW_MS, *event.encoded()) for at, event in enumerate(events)]
        batch = build_batch(records)
        if producer >= 0:
            batch = build_batch(records, producer_id=producer, producer_epoch=0, transactional=True)
        done = self.log.append(batch, read_header(batch), NOW_MS, 0)
        self.log.write_out()
        for event in events:
            if producer >= 0:
                self.groups.hold(producer, event, done.last_offset + 1)
            else:
                self.groups.apply(event)

    def end(self, producer: int, *, commit: bool) -> None:
        put_marker(self.log, producer, commit=commit)
        self.groups.release(producer, commit)

    def compact(self) -> None:
        """Twice, so that what has outlived its use goes."""
        self.log.roll()
        compact(self.log, now_ms=LATER_MS)
        compact(self.log, now_ms=2 * LATER_MS)

    def reloaded(self) -> Groups:
        groups = Groups()
        steps = load(self.log, OFFSETS, groups)
        asyncio.run(carry_out(partial(wait_on, self.disk), steps))
        return groups


def seen(groups: Groups) -> Seen:
    """What anyone can see of them: offsets, and which of them are awaited."""
    offsets, awaited = {}, {}
    for group in groups:
        for _, partition, committed in every(group):
            offsets[group.name, partition] = committed.offset
        for _, partition in group.pending.keys if group.pending else ():
            awaited[group.name, partition] = True
    return offsets, awaited


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    disk = RealDisk()
    yield Journal(disk, tmp_path)
    disk.close()


def check(journal: Journal, expected: Seen) -> None:
    assert seen(journal.groups) == expected
    assert seen(journal.reloaded()) == expected
    journal.compact()
    assert seen(journal.reloaded()) == expected


def test_offsets_of_an_open_transaction_are_awaited(journal: Journal) -> None:
    journal.write("g", {0: 5})
    journal.write("g", {0: 7, 1: 8}, producer=1)
    check(journal, ({("g", 0): 5}, {("g", 0): True, ("g", 1): True}))


def test_offsets_count_when_their_transaction_is_committed(journal: Journal) -> None:
    journal.write("g", {0: 5})
    journal.write("g", {0: 7}, producer=1)
    journal.end(1, commit=True)
    check(journal, ({("g", 0): 7}, {}))


def test_offsets_are_dropped_when_their_transaction_is_aborted(journal: Journal) -> None:
    journal.write("g", {0: 5})
    journal.write("g", {0: 7, 1: 1}, producer=1)
    journal.end(1, commit=False)
    check(journal, ({("g", 0): 5}, {}))


@pytest.mark.parametrize("first_to_end", [1, 2])
def test_of_two_transactions_what_was_written_later_counts(
    journal: Journal, first_to_end: int
) -> None:
    journal.write("g", {0: 5}, producer=1)
    journal.write("g", {0: 7}, producer=2)
    journal.end(first_to_end, commit=True)
    journal.end(3 - first_to_end, commit=True)
    check(journal, ({("g", 0): 7}, {}))


def test_a_plain_commit_counts_if_it_was_written_later(journal: Journal) -> None:
    journal.write("g", {0: 5}, producer=1)
    journal.write("g", {0: 3})
    journal.end(1, commit=True)
    check(journal, ({("g", 0): 3}, {}))


def test_an_end_that_was_written_later_counts(journal: Journal) -> None:
    journal.write("g", {0: 5, 1: 6}, producer=1)
    journal.write("g", {0: None})
    journal.end(1, commit=True)
    check(journal, ({("g", 1): 6}, {}))


def test_a_group_of_which_nothing_is_awaited_any_more_is_forgotten(journal: Journal) -> None:
    journal.write("g", {0: 5}, producer=1)
    journal.write("g", {0: None})
    group = journal.groups.get("g")
    assert group is not None
    assert group.is_forgotten


PLACES = st.dictionaries(st.integers(0, 2), st.integers(0, 99), min_size=1, max_size=2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("plain"), st.sampled_from("gh"), PLACES),
        st.tuples(st.just("in"), st.sampled_from("gh"), PLACES, st.integers(1, 3)),
        st.tuples(st.just("gone"), st.sampled_from("gh"), st.integers(0, 2)),
        st.tuples(st.just("end"), st.integers(1, 3), st.booleans()),
        st.tuples(st.just("compact")),
    ),
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(steps=STEPS)
def test_whatever_is_written_memory_and_log_say_the_same(steps: list[tuple[object, ...]]) -> None:
    disk = RealDisk()
    try:
        with tempfile.TemporaryDirectory() as folder:
            journal = Journal(disk, Path(folder))
            for step in steps:
                carry_out_step(journal, step)
            assert seen(journal.reloaded()) == seen(journal.groups)
            journal.compact()
            assert seen(journal.reloaded()) == seen(journal.groups)
    finally:
        disk.close()


def carry_out_step(journal: Journal, step: tuple[object, ...]) -> None:
    match step:
        case "plain", str(group), dict(places):
            journal.write(group, places)
        case "in", str(group), dict(places), int(producer):
            journal.write(group, places, producer)
        case "gone", str(group), int(index):
            journal.write(group, {index: None})
        case "end", int(producer), bool(commit):
            journal.end(producer, commit=commit)
        case _:
            journal.compact()
