"""A follower against a leader's log: what it asks for, and what it does with the answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.log.making import (
    EVERYTHING,
    NOW_MS,
    TOPIC_ID,
    FullDisk,
    a_folder,
    all_values,
    copied,
    put,
    settle,
)
from tests.log.making import opened as recovered

from penstock.config import TopicConfig
from penstock.errors import ErrorCode, Refused
from penstock.log.partition_log import PartitionLog
from penstock.replication.follower import Follower
from penstock.wire.messages.k01_fetch import EpochEndOffset, PartitionData
from penstock.world.real_disk import RealDisk


@pytest.fixture
def disk() -> Iterator[RealDisk]:
    disk = RealDisk()
    yield disk
    disk.close()


@pytest.fixture
def leader(disk: RealDisk, tmp_path: Path) -> PartitionLog:
    return opened(disk, tmp_path / "leader")


@pytest.fixture
def log(disk: RealDisk, tmp_path: Path) -> PartitionLog:
    return opened(disk, tmp_path / "follower")


def opened(disk: RealDisk, folder: Path) -> PartitionLog:
    log = PartitionLog(disk, str(folder), TOPIC_ID, TopicConfig(segment_bytes=400))
    log.open()
    return log


def answered(leader: PartitionLog, follower: Follower, high_watermark: int) -> PartitionData:
    """What a leader's broker answers."""
    asked = follower.request(EVERYTHING)
    answer = PartitionData(
        0, high_watermark=high_watermark, log_start_offset=leader.start_offset, records=b""
    )
    if asked.last_fetched_epoch >= 0:
        epoch, end = leader.epoch_end_offset(asked.last_fetched_epoch)
        if epoch >= 0 and (epoch != asked.last_fetched_epoch or end < asked.fetch_offset):
            answer.diverging_epoch = EpochEndOffset(epoch, end)
            return answer
    try:
        found = leader.read(asked.fetch_offset, EVERYTHING, leader.end_offset, cold_ok=True)
    except Refused as refused:
        answer.error_code = refused.code
        return answer
    if found is not None:
        range_ = found.range
        answer.records = memoryview(bytearray(range_.file.read(range_.position, range_.length)))
    return answer


def copy(leader: PartitionLog, log: PartitionLog, high_watermark: int = 0) -> Follower:
    """Until nothing comes any more."""
    follower = Follower("t", 0, 1, leader.latest_epoch, log)
    leader.write_out()
    for _ in range(1000):
        if not follower.take(answered(leader, follower, high_watermark), NOW_MS):
            return follower
        log.write_out()
    raise AssertionError("it never ends")


def same(leader: PartitionLog, log: PartitionLog) -> bool:
    return all_values(leader) == all_values(log)


def test_a_follower_copies_all_batches_with_their_offsets_and_epochs(
    leader: PartitionLog, log: PartitionLog
) -> None:
    for number in range(20):
        put(leader, b"%d" % number, b"more", epoch=number // 5)
    copy(leader, log)
    assert same(leader, log)
    assert log.latest_epoch == 3
    assert log.epoch_end_offset(1) == leader.epoch_end_offset(1)


def test_it_is_told_only_of_what_is_synced(leader: PartitionLog, log: PartitionLog) -> None:
    put(leader, b"a")
    follower = Follower("t", 0, 1, 0, log)
    assert follower.is_settled
    follower.take(answered(leader, follower, 0), NOW_MS)
    assert (follower.own_end, follower.is_settled) == (0, False)
    settle(log)
    assert (follower.own_end, follower.is_settled) == (1, True)
    assert follower.request(EVERYTHING).fetch_offset == 1


def test_its_high_watermark_follows_the_leaders_as_far_as_its_log_goes(
    leader: PartitionLog, log: PartitionLog
) -> None:
    for _ in range(3):
        put(leader, b"a")
    assert copy(leader, log, high_watermark=2).high_watermark == 2
    assert copy(leader, log, high_watermark=9).high_watermark == 3
    assert copy(leader, log, high_watermark=1).high_watermark == 3, "it never goes back by itself"


def test_a_stale_high_watermark_cuts_nothing_off(leader: PartitionLog, log: PartitionLog) -> None:
    """KIP-101: a follower that restarts with an old high watermark and then leads has all."""
    for _ in range(5):
        put(leader, b"a")
    copy(leader, log, high_watermark=5)
    log.high_watermark = 1
    follower = copy(leader, log, high_watermark=1)
    assert (log.end_offset, follower.high_watermark) == (5, 1)


def test_what_another_leader_never_had_is_cut_off_by_epoch(
    leader: PartitionLog, log: PartitionLog
) -> None:
    for each in (leader, log):
        put(each, b"shared", epoch=1)
    put(log, b"never committed", epoch=1)
    put(log, b"nor this", epoch=1)
    put(leader, b"in its place", epoch=2)
    copy(leader, log)
    assert same(leader, log)


def test_after_two_quick_failovers_the_histories_are_found_to_part_where_they_do(
    leader: PartitionLog, log: PartitionLog
) -> None:
    """KIP-279: the follower has an epoch that the leader never had, and the other way round."""
    for each in (leader, log):
        put(each, b"shared", epoch=0)
    put(log, b"of epoch 1", epoch=1)
    put(log, b"of epoch 1 too", epoch=1)
    put(leader, b"of epoch 2", epoch=2)
    put(leader, b"of epoch 3", epoch=3)
    copy(leader, log)
    assert same(leader, log)


def test_a_follower_that_the_leader_has_left_behind_starts_over(
    leader: PartitionLog, log: PartitionLog
) -> None:
    put(leader, b"old")
    copy(leader, log)
    for number in range(10):
        put(leader, b"%d" % number)
    settle(leader)
    leader.advance_start(8)
    copy(leader, log, high_watermark=11)
    assert all_values(log) == all_values(leader)[: len(all_values(log))]
    assert log.start_offset == 8
    assert log.end_offset == 11


def with_a_start_inside_a_batch(leader: PartitionLog) -> None:
    """Batches of three, and a start at the last record of the second."""
    for number in range(4):
        put(leader, *(b"%d" % (3 * number + each) for each in range(3)), epoch=number // 2)
    settle(leader)
    leader.advance_start(5)


@pytest.mark.parametrize("already", [0, 1])
def test_a_log_that_starts_inside_a_batch_is_copied_with_all_of_that_batch(
    leader: PartitionLog, log: PartitionLog, already: int
) -> None:
    """DeleteRecords makes such logs. One follower is new, the other was away meanwhile."""
    for number in range(already):
        put(leader, b"before", epoch=number)
        copy(leader, log, high_watermark=1)
    with_a_start_inside_a_batch(leader)
    follower = copy(leader, log, high_watermark=leader.end_offset)
    assert same(leader, log)
    assert (log.start_offset, log.end_offset) == (5, leader.end_offset)
    assert follower.high_watermark == leader.end_offset
    assert log.epoch_end_offset(0) == leader.epoch_end_offset(0)
    put(leader, b"later", epoch=1)
    copy(leader, log)
    assert same(leader, log)


def test_a_log_that_starts_inside_a_batch_is_the_same_after_a_stop_and_after_a_crash(
    leader: PartitionLog, disk: RealDisk, tmp_path: Path
) -> None:
    with_a_start_inside_a_batch(leader)
    folder = a_folder(disk, tmp_path / "data")
    log = folder.log_for("orders", 0, TOPIC_ID, TopicConfig(segment_bytes=400))
    copy(leader, log, high_watermark=12)
    settle(log)
    crashed = recovered(disk, str(copied(Path(log.folder), tmp_path / "crashed")))
    copy(leader, crashed)
    assert all_values(crashed, 5) == all_values(leader)
    folder.close()
    again = a_folder(disk, tmp_path / "data").log_for("orders", 0, TOPIC_ID, log.config)
    assert same(leader, again)
    assert again.start_offset == 5


def test_where_a_first_batch_around_the_start_cannot_be_written_it_is_copied_later(
    tmp_path: Path,
) -> None:
    disk = FullDisk()
    leader, log = opened(disk, tmp_path / "leader"), opened(disk, tmp_path / "follower")
    with_a_start_inside_a_batch(leader)
    disk.is_full = True
    with pytest.raises(OSError, match="no space"):
        copy(leader, log)
    assert log.start_offset == log.end_offset
    disk.is_full = False
    copy(leader, log)
    assert same(leader, log)
    disk.close()


def test_a_batch_from_before_its_end_is_refused_by_a_log_that_has_records(
    leader: PartitionLog, log: PartitionLog
) -> None:
    with_a_start_inside_a_batch(leader)
    copy(leader, log)
    found = leader.read(5, EVERYTHING, leader.end_offset, cold_ok=True)
    assert found is not None
    data = found.range.file.read(found.range.position, found.range.length)
    with pytest.raises(Refused, match="in a log that ends at 12"):
        log.append_batches(memoryview(bytearray(data)), NOW_MS)
    assert same(leader, log)


def test_an_answer_that_says_no_changes_nothing(leader: PartitionLog, log: PartitionLog) -> None:
    put(log, b"a")
    follower = Follower("t", 0, 1, 0, log)
    with pytest.raises(Refused) as refused:
        follower.take(PartitionData(0, error_code=ErrorCode.FENCED_LEADER_EPOCH), NOW_MS)
    assert refused.value.code is ErrorCode.FENCED_LEADER_EPOCH
    assert log.end_offset == 1


def test_damaged_records_are_refused(leader: PartitionLog, log: PartitionLog) -> None:
    put(leader, b"a" * 50)
    follower = Follower("t", 0, 1, 0, log)
    answer = answered(leader, follower, 0)
    assert isinstance(answer.records, memoryview)
    answer.records[-1] ^= 1
    with pytest.raises(Refused):
        follower.take(answer, NOW_MS)
    assert log.end_offset == 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_whatever_two_logs_have_become_the_follower_ends_with_the_leaders_history(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    disk = RealDisk()
    folder = tmp_path_factory.mktemp("logs")
    leader, log = opened(disk, folder / "leader"), opened(disk, folder / "follower")
    epoch = 0
    for _ in range(data.draw(st.integers(0, 5))):
        put(leader, b"shared", epoch=epoch)
        epoch += data.draw(st.integers(0, 1))
    copy(leader, log)
    for each in (leader, log):
        own = epoch
        for number in range(data.draw(st.integers(0, 5))):
            own += data.draw(st.integers(0, 2))
            put(each, b"%d of %d" % (number, own), epoch=2 * own + (each is leader))
    put(leader, b"last", epoch=99)
    copy(leader, log)
    assert same(leader, log)
    disk.close()
