"""The search for the next good batch after damage, in a log that may change meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from struct import pack_into

import pytest
from tests.log.making import OTHER_ID, TOPIC_ID, MeteredDisk, a_batch, a_folder, put
from tests.log.spoiling import break_batch
from tests.log.test_timestamps import ColdDisk
from tests.log.timing import finished, patient_headers

from penstock.config import TopicConfig
from penstock.log import drafting, notes
from penstock.log.damage import Damage
from penstock.log.log_dir import LogDir
from penstock.log.partition_log import PartitionLog
from penstock.log.reindexing import reindex
from penstock.log.segment import Segment
from penstock.log.steps import Steps, Wait
from penstock.wire.batch import HEADER_SIZE, LENGTH_OVERHEAD
from penstock.world.ports import Cold
from penstock.world.real_disk import RealDisk

# Damage in a log that changes meanwhile


def with_a_long_search(log: PartitionLog) -> Segment:
    """A finished segment of which all but two batches are no batch any more: the search for the
    next good one takes several steps."""
    for value in (b"1", b"2"):
        put(log, value)
    for _ in range(4):
        put(log, b"x" * 300_000)
    log.roll()
    put(log, b"last")
    segment = log.segments[0]
    path, start = Path(segment.file.path), 2 * len(a_batch(b"1"))
    path.write_bytes(path.read_bytes()[:start] + bytes(segment.size - start))
    return segment


def in_the_search(steps: Steps[None]) -> None:
    for _ in range(2):
        assert next(steps) is None


def until_written(steps: Steps[None]) -> Callable[[], None]:
    """What is to be done off the loop."""
    for wait in steps:
        if callable(wait):
            return wait
    raise AssertionError("nothing was to be written")


def orders_made_anew(folder: LogDir) -> PartitionLog:
    folder.delete_log("orders", 0, TOPIC_ID)
    log = folder.log_for("orders", 0, OTHER_ID, TopicConfig())
    put(log, b"new")
    return log


@pytest.mark.parametrize("moment", ["search", "write"])
def test_a_topic_made_anew_does_not_inherit_damage_of_the_deleted_one(
    disk: RealDisk, tmp_path: Path, moment: str
) -> None:
    folder = a_folder(disk, tmp_path)
    log = folder.log_for("orders", 0, TOPIC_ID, TopicConfig())
    steps = reindex(log, with_a_long_search(log))
    if moment == "search":
        in_the_search(steps)
        new = orders_made_anew(folder)
    else:
        write = until_written(steps)
        new = orders_made_anew(folder)
        write()
    finished(log, steps)
    assert not new.damage
    assert not list(tmp_path.glob("orders-0/penstock.damage*"))
    folder.abandon()


def test_a_search_ends_with_its_log(disk: RealDisk, tmp_path: Path) -> None:
    folder = a_folder(disk, tmp_path)
    log = folder.log_for("orders", 0, TOPIC_ID, TopicConfig())
    segment = with_a_long_search(log)
    steps = reindex(log, segment)
    in_the_search(steps)
    folder.delete_log("orders", 0, TOPIC_ID)
    for doomed in folder.folders.take_doomed():
        disk.remove_folder(doomed)
    assert list(steps) == [None]
    assert not segment.is_being_reindexed
    folder.abandon()


def test_what_is_cut_off_during_the_search_is_no_damage(log: PartitionLog) -> None:
    steps = reindex(log, with_a_long_search(log))
    in_the_search(steps)
    log.truncate_to(0)
    put(log, b"another")
    finished(log, steps)
    assert not log.damage
    assert [header.base_offset for header in patient_headers(log, 0)] == [0]


@pytest.mark.parametrize("kept", [0, 1])
def test_what_is_cut_off_while_damage_is_noted_is_not_in_the_note(
    log: PartitionLog, folder: Path, kept: int
) -> None:
    log.damage = [Damage(0, 1, 0, 0, 0)] * kept
    steps = reindex(log, with_a_long_search(log))
    write = until_written(steps)
    log.truncate_to(2)
    write()
    finished(log, steps)
    assert len(log.damage) == kept
    assert (notes.read_damage(log) or []) == log.damage
    assert len(list(folder.glob("penstock.damage*"))) == kept


# Records that are made to look like batches


MIB = 1 << 20


def fake_head(offset: int, size: int) -> bytes:
    """Of what says that it is a batch of a size."""
    head = a_batch(b"x")[:HEADER_SIZE]
    pack_into(">qi", head, 0, offset, size - LENGTH_OVERHEAD)
    return bytes(head)


def with_fakes(log: PartitionLog) -> int:
    """In a finished segment of some megabytes, one batch has a wrong magic byte, and records that
    look like batches of nearly all that follows; its offset."""
    put(log, b"first")
    bad = put(log, fake_head(3, 5 * MIB) * 300).base_offset
    for _ in range(12):
        put(log, b"x" * (MIB // 2))
    log.roll()
    put(log, b"last")
    break_batch(Path(log.segments[0].file.path), 1)
    return bad


def test_no_step_of_a_search_takes_more_than_a_little(folder: Path) -> None:
    disk = MeteredDisk()
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    bad = with_fakes(log)
    a_step: list[int] = []

    def note(_: Wait) -> None:
        a_step.append(sum(disk.lengths))
        disk.lengths.clear()

    disk.lengths.clear()
    finished(log, reindex(log, log.segments[0]), note)
    assert max(a_step) <= 2 * MIB
    assert sum(a_step) <= 3 * log.segments[0].size
    assert [each[:2] for each in log.damage] == [(bad, bad + 1)]
    disk.close()


def test_no_search_reads_what_is_cold_on_the_loop(folder: Path) -> None:
    disk = ColdDisk()
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    bad = with_fakes(log)
    disk.cold_reads = 0

    def warm(wait: Wait) -> None:
        if isinstance(wait, Cold):
            assert wait.length <= drafting.WARM_BYTES
            disk.warmed.append((wait.file.path, wait.position, wait.length))

    finished(log, reindex(log, log.segments[0]), warm)
    assert disk.cold_reads == len(disk.warmed) > 1
    assert [each[:2] for each in log.damage] == [(bad, bad + 1)]
    disk.close()


def test_a_large_batch_between_two_that_are_bad_is_found(log: PartitionLog) -> None:
    put(log, b"first")
    for _ in range(3):
        put(log, b"x" * (3 * MIB))
    log.roll()
    put(log, b"last")
    for number in (1, 3):
        break_batch(Path(log.segments[0].file.path), number)
    finished(log, reindex(log, log.segments[0]))
    assert [each[:2] for each in log.damage] == [(1, 2), (3, 4)]
