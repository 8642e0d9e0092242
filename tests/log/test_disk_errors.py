"""Calls to the disk that fail at the worst moment: files go on saying what the log has promised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.log.compacting import WITHOUT_RETENTION, compact, every_record, latest, write
from tests.log.failing import FailingDisk, Fails, nothing
from tests.log.making import (
    NOW_MS,
    TOPIC_ID,
    a_folder,
    all_values,
    copied,
    opened,
    put,
    settle,
)
from tests.log.test_compaction_crash import a_written_log, check
from tests.log.timing import drop_expired

from penstock.config import TopicConfig
from penstock.errors import Unusable
from penstock.log.layout import INDEX_SUFFIXES, TXN_INDEX
from penstock.log.log_dir import LogDir
from penstock.log.partition_log import PartitionLog
from penstock.wire.records import Record

SMALL = TopicConfig(segment_bytes=300)


@pytest.fixture
def disk() -> Iterator[FailingDisk]:
    disk = FailingDisk()
    yield disk
    disk.close()


def once(number: int, of: str) -> Fails:
    """The call of this kind that comes after so many others fails."""
    calls = count()
    return lambda verb, _: verb == of and next(calls) == number


def from_then_on(number: int, of: str) -> Fails:
    """All calls of this kind fail after so many others."""
    calls = count()
    return lambda verb, _: verb == of and next(calls) >= number


# Compaction


@pytest.mark.parametrize("failing", [once, from_then_on])
def test_a_swap_that_fails_at_any_rename_never_replaces_what_is_written_later(
    disk: FailingDisk, tmp_path: Path, failing: Callable[[int, str], Fails]
) -> None:
    for number in count():
        folder = tmp_path / f"orders-{number}"
        log = a_written_log(disk, folder)
        original, end, synced = every_record(log), log.end_offset, log.synced_end
        disk.fails = failing(number, "rename")
        try:
            compact(log, now_ms=NOW_MS + 1)
            break
        except OSError:
            disk.fails = nothing
        assert failing is from_then_on or not list(folder.glob("*.swap"))
        crashed = copied(folder, tmp_path / "crashed")
        check(opened(disk, str(crashed), WITHOUT_RETENTION, synced), original, end)
        check(log, original, end)
        go_on_and_compact(log)
        wanted = every_record(log)
        assert last_words(wanted) == {**last_words(original), b"k4": b"later", b"new": b"1"}
        log.close()
        again = opened(disk, str(folder), WITHOUT_RETENTION, log.end_offset)
        assert every_record(again) == wanted
    assert number > 10


def test_a_swap_that_fails_leaves_no_index_beside_the_old_segments(
    disk: FailingDisk, tmp_path: Path
) -> None:
    for number in count():
        log = a_written_log(disk, tmp_path / f"orders-{number}")
        disk.fails = once(number, "rename")
        try:
            compact(log, now_ms=NOW_MS + 1)
            break
        except OSError:
            disk.fails = nothing
        indexed = [disk.exists(segment.prefix + TXN_INDEX) for segment in log.segments]
        assert indexed == [segment.has_aborted for segment in log.segments]
    assert number > 20


def last_words(records: list[Record]) -> dict[bytes | None, bytes]:
    return latest(record for record in records if record.value != b"bad")


def go_on_and_compact(log: PartitionLog) -> None:
    """The stretch that is replaced is longer by then."""
    write(log, (b"k4", b"later"))
    log.roll()
    write(log, (b"new", b"1"))
    settle(log)
    compact(log, now_ms=NOW_MS + 1)


def test_a_truncation_takes_back_what_could_not_be_finished_before(
    disk: FailingDisk, folder: Path
) -> None:
    log = a_written_log(disk, folder)
    disk.fails = from_then_on(12, "rename")
    with pytest.raises(OSError, match="cannot rename"):
        compact(log, now_ms=NOW_MS + 1)
    disk.fails = nothing
    assert list(folder.glob("*.swap")), "the test must stop at the right moment"
    log.truncate_to(log.segments[1].base)
    write(log, (b"k1", b"another history"))
    settle(log)
    wanted = every_record(log)
    again = opened(disk, str(folder), WITHOUT_RETENTION, log.end_offset)
    assert every_record(again) == wanted


# Retention


def test_segments_that_cannot_be_renamed_stay_and_go_the_next_time(
    disk: FailingDisk, folder: Path
) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL)
    while len(log.segments) < 5:
        put(log, b"x" * 100)
    settle(log)
    bases = [segment.base for segment in log.segments]
    batches_renamed = count()
    disk.fails = lambda verb, path: (
        verb == "rename" and path.endswith(".log") and next(batches_renamed) == 1
    )
    dropped = log.advance_start(bases[3])
    disk.fails = nothing
    assert {Path(path).name[:20] for path in dropped} == {f"{bases[0]:020d}"}
    assert log.start_offset == bases[3]
    assert [segment.base for segment in log.segments] == bases[1:]
    settle(log)
    assert all_values(opened(disk, str(folder), SMALL))[0][0] == bases[1]
    drop_expired(log, NOW_MS, log.end_offset)
    assert [segment.base for segment in log.segments] == bases[3:]


def test_a_segment_that_cannot_be_renamed_is_reported_when_it_is_the_first(
    disk: FailingDisk, folder: Path
) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL)
    while len(log.segments) < 3:
        put(log, b"x" * 100)
    disk.fails = lambda verb, _: verb == "rename"
    with pytest.raises(OSError, match="cannot rename"):
        log.advance_start(log.end_offset)
    assert (log.start_offset, log.segments[0].base) == (log.end_offset, 0)


# Indexes


@pytest.mark.parametrize("kind", INDEX_SUFFIXES)
@pytest.mark.parametrize("verb", ["truncate", "append", "finish"])
def test_an_index_that_cannot_be_written_again_is_gone_rather_than_wrong(
    disk: FailingDisk, folder: Path, kind: str, verb: str
) -> None:
    log = a_written_log(disk, folder)
    segment = next(each for each in log.segments if each.has_aborted)
    log.indexes.load(segment)
    path = segment.prefix + kind
    assert disk.exists(path)
    disk.fails = lambda what, where: (what, where) == (verb, path)
    with pytest.raises(OSError, match=f"cannot {verb}"):
        segment.write_indexes()
    assert not disk.exists(path)


# Checkpoints


def orders(folder: LogDir, index: int = 0) -> PartitionLog:
    return folder.log_for("orders", index, TOPIC_ID, SMALL)


def a_changed_log(folder: LogDir) -> PartitionLog:
    """Everything that a checkpoint notes is news."""
    log = orders(folder)
    for number in range(8):
        put(log, b"x" * 100, epoch=1 + number // 4)
    log.advance_start(5)
    settle(log)
    log.high_watermark = log.cleaned_to = log.end_offset
    return log


def test_what_a_failed_checkpoint_did_not_write_is_written_by_the_next(
    disk: FailingDisk, tmp_path: Path
) -> None:
    for number in count():
        path = tmp_path / str(number)
        folder = a_folder(disk, path)
        log = a_changed_log(folder)
        disk.fails = once(number, "write")
        write = folder.begin_checkpoint()
        assert write is not None
        try:
            write()
            break
        except OSError:
            disk.fails = nothing
        folder.checkpoint()
        again = recovered(disk, copied(path, tmp_path / "crashed"))
        assert again.epochs.entries == log.epochs.entries
        assert (again.start_offset, again.recovery_point) == (5, 8)
        assert (again.high_watermark, again.cleaned_to) == (8, 8)
    assert number == 7


def recovered(disk: FailingDisk, path: Path) -> PartitionLog:
    folder = a_folder(disk, path)
    log = orders(folder)
    for _ in folder.recover_all():
        pass
    folder.abandon()
    return log


def test_a_checkpoint_that_succeeded_leaves_nothing_to_write(
    disk: FailingDisk, tmp_path: Path
) -> None:
    folder = a_folder(disk, tmp_path / "data")
    a_changed_log(folder)
    write = folder.begin_checkpoint()
    assert write is not None
    write()
    folder.end_checkpoint()
    assert folder.begin_checkpoint() is None


def test_what_changed_while_a_checkpoint_was_written_is_news_to_the_next(
    disk: FailingDisk, tmp_path: Path
) -> None:
    folder = a_folder(disk, tmp_path / "data")
    log = a_changed_log(folder)
    write = folder.begin_checkpoint()
    assert write is not None
    put(log, b"later", epoch=7)
    settle(log)
    write()
    folder.end_checkpoint()
    folder.checkpoint()
    epochs = (tmp_path / "data" / "orders-0" / "leader-epoch-checkpoint").read_text()
    assert epochs.rstrip().endswith("\n7 8")
    again = recovered(disk, copied(tmp_path / "data", tmp_path / "crashed"))
    assert (again.epochs.latest, again.recovery_point) == (7, 9)


def test_a_checkpoint_that_fails_after_a_log_was_cut_meanwhile_is_not_believed(
    disk: FailingDisk, tmp_path: Path
) -> None:
    folder = a_folder(disk, tmp_path / "data")
    log = a_changed_log(folder)
    write = folder.begin_checkpoint()
    assert write is not None
    log.truncate_to(7)
    write()  # late, and as far as anyone knows it failed at the end
    folder.checkpoint()
    again = recovered(disk, copied(tmp_path / "data", tmp_path / "crashed"))
    assert (again.damage, again.recovery_point, again.end_offset) == ([], 7, 7)


def test_a_clean_start_does_not_begin_before_its_first_segment(
    disk: FailingDisk, tmp_path: Path
) -> None:
    folder = a_folder(disk, tmp_path / "data")
    log = a_changed_log(folder)
    folder.close()
    checkpoint = tmp_path / "data" / "log-start-offset-checkpoint"
    checkpoint.write_text(checkpoint.read_text().replace("orders 0 5", "orders 0 0"))
    again = orders(a_folder(disk, tmp_path / "data"))
    again.open()
    assert again.start_offset == log.segments[0].base > 0


# Starting


@pytest.mark.parametrize("problem", ["a failure", "a newer release"])
def test_a_log_that_cannot_be_recovered_keeps_no_other_from_being_served(
    disk: FailingDisk, tmp_path: Path, problem: str
) -> None:
    path = tmp_path / "data"
    folder = a_folder(disk, path)
    for index in range(3):
        put(orders(folder, index), b"first")
    folder.checkpoint()
    folder.abandon()
    if problem == "a failure":
        disk.fails = lambda verb, where: verb == "read" and "orders-1" in where and ".log" in where
    else:
        (path / "orders-1" / "leader-epoch-checkpoint").write_text("9\n0\n")
    folder = a_folder(disk, path)
    logs = [orders(folder, index) for index in range(3)]
    for _ in folder.recover_all():
        pass
    assert set(folder.unrecoverable) == {("orders", 1)}
    assert [log.is_open for log in logs] == [True, False, True]
    assert all_values(logs[2]) == [(0, b"first")]
    with pytest.raises(Unusable, match="orders-1"):
        orders(folder, 1)
    folder.close()
    assert not a_folder(disk, path).was_clean, "or the next start would believe what it finds"
