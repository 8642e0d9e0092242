"""Terms that begin with records of earlier ones: known on disk before those become committed."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.log.making import NOW_MS, TOPIC_ID, put, settle

from penstock.config import TopicConfig
from penstock.log import layout, notes, recovery
from penstock.log.leader_epochs import EpochStart
from penstock.log.partition_log import PartitionLog
from penstock.metadata.records import PartitionRecord
from penstock.replication.follower import Follower
from penstock.replication.leader import Leader
from penstock.wire.messages.k01_fetch import EpochEndOffset, PartitionData
from penstock.world.real_disk import RealDisk
from penstock.world.real_file import RealFile

BEFORE, BETWEEN, NOW = 2, 3, 4


@pytest.fixture
def disk() -> Iterator[RealDisk]:
    disk = RealDisk()
    yield disk
    disk.close()


@pytest.fixture
def log(disk: RealDisk, tmp_path: Path) -> PartitionLog:
    """Three records of a term before, one of which is known to be committed."""
    log = opened(disk, tmp_path / "t-0")
    written(log, 3)
    log.high_watermark = 1
    return log


def opened(disk: RealDisk, folder: Path) -> PartitionLog:
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig())
    log.open()
    return log


def written(log: PartitionLog, count: int, epoch: int = BEFORE) -> None:
    for _ in range(count):
        put(log, b"x", epoch=epoch)
    settle(log)


def killed(disk: RealDisk, log: PartitionLog) -> PartitionLog:
    """As it is found after kill -9."""
    found = PartitionLog(disk, log.folder, TOPIC_ID, TopicConfig())
    for _ in recovery.recover(found):
        pass
    return found


def leading(log: PartitionLog, *isr: int) -> Leader:
    replicas = (1, 2, 3)
    record = PartitionRecord(replicas=replicas, leader=1, isr=isr or (1, 2), leader_epoch=NOW)
    return Leader(1, "t", 0, record, log)


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "no space")


def following(log: PartitionLog) -> Follower:
    return Follower("t", 0, 1, NOW, log)


def told(epoch: int, offset: int) -> PartitionData:
    return PartitionData(0, diverging_epoch=EpochEndOffset(epoch, offset), records=b"")


def test_what_was_written_before_is_not_committed_before_the_term_is_on_disk(
    log: PartitionLog,
) -> None:
    leader = leading(log)
    assert not leader.fetched(2, 3, 0, epoch=NOW)
    settle(log)
    assert leader.advance()
    assert leader.high_watermark == 3


def test_a_topic_that_is_not_synced_waits_for_the_note_too(log: PartitionLog) -> None:
    log.config = TopicConfig(flush_on_acks_all=False)
    leader = leading(log, 1)
    assert not leader.advance()
    settle(log)
    assert leader.advance()


def test_a_term_that_cannot_be_noted_is_brought_by_its_first_record(
    log: PartitionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = leading(log, 1)
    monkeypatch.setattr(notes, "write_begun", full)
    settle(log)
    assert not leader.advance()
    assert log.latest_epoch == BEFORE
    written(log, 1, NOW)
    assert leader.advance()
    assert leader.high_watermark == 4


def test_a_term_that_could_not_be_noted_is_noted_once_there_is_room(
    log: PartitionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody may write to the partition, and readers wait for what was written before."""
    leader = leading(log, 1)
    with monkeypatch.context() as patched:
        patched.setattr(notes, "write_begun", full)
        settle(log)
        assert leader.note_beginning_again()
        settle(log)
        assert not leader.advance()
    assert leader.note_beginning_again()
    settle(log)
    assert leader.advance()
    assert not leader.note_beginning_again()


def test_a_sync_that_began_before_the_term_does_not_count_for_it(log: PartitionLog) -> None:
    token = log.begin_sync()
    leader = leading(log, 1)
    log.end_sync(token)
    assert not leader.advance()


def test_a_follower_that_does_not_know_of_the_term_does_not_count(log: PartitionLog) -> None:
    leader = leading(log)
    settle(log)
    assert not leader.fetched(2, 3, 0, epoch=BEFORE)
    assert leader.unknown_epoch(BEFORE, 3) == EpochStart(NOW, 3)
    assert leader.fetched(2, 3, 0, epoch=NOW)
    assert leader.unknown_epoch(NOW, 3) is None


def test_a_follower_that_is_behind_is_told_once_it_has_all(log: PartitionLog) -> None:
    assert leading(log).unknown_epoch(BEFORE, 2) is None


def test_who_does_not_know_of_the_term_comes_into_sync_only_once_it_does(
    log: PartitionLog,
) -> None:
    leader = leading(log)
    settle(log)
    leader.fetched(2, 3, 0, epoch=NOW)
    leader.fetched(3, 3, 0, epoch=BEFORE)
    assert not leader.caught_up()
    leader.fetched(3, 3, 0, epoch=NOW)
    assert leader.caught_up() == {3}


def test_records_of_the_term_tell_of_it_too(log: PartitionLog) -> None:
    leader = leading(log)
    written(log, 1, NOW)
    assert leader.unknown_epoch(BEFORE, 3) is None
    assert not leader.fetched(2, 3, 0, epoch=BEFORE)
    assert leader.fetched(2, 4, 0, epoch=NOW)


def test_where_all_is_committed_nothing_is_noted(log: PartitionLog) -> None:
    log.high_watermark = 3
    leader = leading(log)
    assert log.latest_epoch == BEFORE
    assert not any(log.disk.exists(f"{log.folder}/{name}") for name in layout.BEGUN_FILES)
    leader.fetched(3, 3, 0, epoch=BEFORE)
    assert leader.caught_up() == {3}


def test_a_leader_that_was_killed_knows_of_its_term(disk: RealDisk, log: PartitionLog) -> None:
    leading(log)
    settle(log)
    assert killed(disk, log).epochs.entries == [EpochStart(BEFORE, 0), EpochStart(NOW, 3)]


def test_a_term_that_cannot_be_noted_leaves_the_note_of_the_one_before(
    disk: RealDisk, log: PartitionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.begin_epoch(BETWEEN, 1)
    settle(log)
    leading(log)
    with monkeypatch.context() as patched:
        patched.setattr(RealFile, "append", full)
        settle(log)
    assert log.latest_epoch == BETWEEN
    assert killed(disk, log).latest_epoch == BETWEEN


def test_a_follower_notes_the_term_and_asks_again_once_that_is_synced(
    disk: RealDisk, log: PartitionLog
) -> None:
    follower = following(log)
    assert follower.take(told(NOW, 3), NOW_MS)
    assert follower.own_end < log.end_offset
    settle(log)
    assert follower.is_settled
    assert follower.request(1000).last_fetched_epoch == NOW
    assert killed(disk, log).latest_epoch == NOW


def test_a_term_that_another_history_does_not_know_is_asked_for_no_more(
    log: PartitionLog,
) -> None:
    log.begin_epoch(BETWEEN, 1)
    follower = following(log)
    follower.take(told(BEFORE, 3), NOW_MS)
    assert follower.request(1000).last_fetched_epoch == BEFORE
    assert log.end_offset == 3


def test_a_log_that_was_cut_and_has_grown_differently_was_not_in_that_term(
    disk: RealDisk, log: PartitionLog
) -> None:
    log.begin_epoch(BETWEEN, 1)
    settle(log)
    log.truncate_to(2)
    written(log, 1)
    assert killed(disk, log).latest_epoch == BEFORE


def test_a_term_whose_records_were_cut_off_has_begun_all_the_same(
    disk: RealDisk, log: PartitionLog
) -> None:
    log.begin_epoch(BETWEEN, 1)
    settle(log)
    written(log, 2, BETWEEN)
    log.truncate_to(3)
    assert (log.end_offset, log.latest_epoch) == (3, BETWEEN)
    assert killed(disk, log).latest_epoch == BETWEEN


def test_who_has_what_was_committed_has_more_than_who_wrote_in_a_term_between(
    disk: RealDisk, log: PartitionLog, tmp_path: Path
) -> None:
    """The third has a record of its own term, and not all that its followers had by then."""
    third, second = opened(disk, tmp_path / "third"), opened(disk, tmp_path / "second")
    written(third, 1)
    written(third, 1, BETWEEN)
    written(second, 3)
    leader, follower = leading(log), following(second)
    settle(log)
    begun = leader.unknown_epoch(follower.request(1000).last_fetched_epoch, second.end_offset)
    assert begun is not None
    follower.take(told(*begun), NOW_MS)
    settle(second)
    leader.fetched(2, second.end_offset, 0, epoch=follower.request(1000).last_fetched_epoch)
    assert leader.high_watermark == 3
    claims = {
        name: (each.latest_epoch, each.end_offset)
        for name, each in (
            ("first", killed(disk, log)),
            ("second", killed(disk, second)),
            ("third", killed(disk, third)),
        )
    }
    assert claims["first"] == claims["second"] > claims["third"]
