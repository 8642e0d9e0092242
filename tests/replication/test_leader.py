"""What a leader counts as committed, given how far its followers are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.log.making import TOPIC_ID, put, settle

from penstock.config import TopicConfig
from penstock.errors import ErrorCode, Refused
from penstock.log.partition_log import PartitionLog
from penstock.metadata.records import PartitionRecord
from penstock.replication.leader import Leader
from penstock.world.real_disk import RealDisk

FOR_EVER = 1 << 60


@pytest.fixture
def disk() -> Iterator[RealDisk]:
    disk = RealDisk()
    yield disk
    disk.close()


@pytest.fixture
def log(disk: RealDisk, tmp_path: Path) -> PartitionLog:
    return PartitionLog(disk, str(tmp_path / "t-0"), TOPIC_ID, TopicConfig(min_insync_replicas=2))


def record(*isr: int, **rest: Any) -> PartitionRecord:
    values = {"replicas": (1, 2, 3), "leader": 1, "isr": isr or (1, 2, 3), "leader_epoch": 4}
    return PartitionRecord(**{**values, **rest})


def leading(log: PartitionLog, *isr: int, **rest: Any) -> Leader:
    log.open()
    return Leader(1, "t", 0, record(*isr, **rest), log)


def add(leader: Leader, count: int = 1) -> None:
    """Records that are synced here."""
    for _ in range(count):
        put(leader.log, b"x", epoch=leader.epoch)
    settle(leader.log)
    leader.advance()


def test_nothing_is_committed_before_all_that_are_in_sync_have_it(log: PartitionLog) -> None:
    leader = leading(log)
    add(leader, 3)
    assert leader.high_watermark == 0
    assert not leader.fetched(2, 3, now_ms=0)
    assert leader.fetched(3, 2, now_ms=0)
    assert leader.high_watermark == 2


def test_what_is_not_synced_here_is_not_committed(log: PartitionLog) -> None:
    leader = leading(log)
    put(log, b"x")
    leader.fetched(2, 1, 0)
    leader.fetched(3, 1, 0)
    assert leader.high_watermark == 0
    settle(log)
    assert leader.advance()
    assert leader.high_watermark == 1


def test_a_follower_out_of_sync_holds_nothing_up(log: PartitionLog) -> None:
    leader = leading(log, 1, 2)
    add(leader, 2)
    assert leader.fetched(2, 2, 0)
    assert leader.high_watermark == 2


def test_while_a_change_is_under_way_the_old_and_the_new_ones_count(log: PartitionLog) -> None:
    leader = leading(log, 1, 2)
    add(leader, 4)
    leader.want(frozenset({1, 3}))
    leader.fetched(3, 1, 0)
    assert leader.high_watermark == 0, "2 may still be in sync, and has nothing"
    leader.fetched(2, 4, 0)
    assert leader.high_watermark == 1, "3 may be in sync by now, 2 may still be"
    assert not leader.follow(record(1, 2), 0), "somebody else's change says nothing of it"
    leader.want_no_more()
    assert leader.follow(record(1, 2), 0)
    assert leader.high_watermark == 4


def test_with_fewer_in_sync_than_the_minimum_nothing_becomes_committed(log: PartitionLog) -> None:
    leader = leading(log, 1)
    add(leader, 2)
    assert leader.high_watermark == 0
    with pytest.raises(Refused) as refused:
        leader.check_enough_in_sync()
    assert refused.value.code is ErrorCode.NOT_ENOUGH_REPLICAS
    leader.follow(record(1, 2), 0)
    leader.fetched(2, 2, 0)
    assert leader.high_watermark == 2


def test_what_is_committed_goes_by_the_minimum_that_the_record_has(log: PartitionLog) -> None:
    """The controller elects by that one; settings may be ahead of it, or behind."""
    leader = leading(log, 1, min_isr=3)
    log.config = replace(log.config, min_insync_replicas=1)
    add(leader)
    assert leader.has_too_few_in_sync
    with pytest.raises(Refused, match="asks for 3"):
        leader.check_enough_in_sync()
    assert leader.follow(record(1, min_isr=1), 0)
    assert leader.high_watermark == 1
    leader.check_enough_in_sync()


def test_a_partition_with_one_replica_needs_no_other_to_commit(log: PartitionLog) -> None:
    leader = leading(log, 1, replicas=(1,))
    add(leader)
    assert leader.high_watermark == 1


def test_a_broker_that_has_no_replica_is_told_so(log: PartitionLog) -> None:
    with pytest.raises(Refused) as refused:
        leading(log).fetched(7, 0, 0)
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_new_term_begins_with_what_was_committed_and_asks_the_followers_anew(
    log: PartitionLog,
) -> None:
    leader = leading(log)
    add(leader, 3)
    for broker in (2, 3):
        leader.fetched(broker, 3, 0)
    leader.begin_term(record(leader_epoch=5), 0)
    add(leader)
    assert leader.high_watermark == 3
    leader.fetched(2, 4, 0)
    assert leader.high_watermark == 3
    again = leading(log, leader_epoch=6)
    assert again.high_watermark == 3, "another broker may have made it the leader again"


def test_who_has_caught_up_is_taken_in_but_not_with_the_last_term_only(log: PartitionLog) -> None:
    add(leading(log, 1, replicas=(1,)), 3)
    leader = leading(log, 1, leader_epoch=5)
    leader.fetched(2, 2, 0)
    assert leader.caught_up() == frozenset(), "it lacks what this term began with"
    leader.fetched(2, 3, 0)
    assert leader.caught_up() == {2}
    leader.want(frozenset({1, 2}))
    assert leader.caught_up() == frozenset(), "that is under way"


def test_who_has_not_caught_up_for_too_long_is_left_behind(log: PartitionLog) -> None:
    leader = leading(log)
    add(leader, 2)
    leader.fetched(2, 2, now_ms=1000)
    leader.fetched(3, 1, now_ms=1000)
    assert leader.left_behind(1000, lag_ms_max=1000, lag_max=-1) == frozenset()
    assert leader.left_behind(1001, lag_ms_max=1000, lag_max=-1) == {3}
    assert leader.left_behind(FOR_EVER, lag_ms_max=1000, lag_max=-1) == {3}, "2 has all there is"


def test_under_load_who_has_what_there_was_when_it_last_asked_keeps_up(log: PartitionLog) -> None:
    leader = leading(log)
    for step in range(1, 5):
        add(leader, 10)
        leader.fetched(2, 10 * (step - 1), now_ms=600 * step)
        leader.fetched(3, step, now_ms=600 * step)
    assert leader.left_behind(2500, lag_ms_max=1000, lag_max=-1) == {3}


def test_who_lacks_too_many_records_is_left_behind_where_that_is_set(log: PartitionLog) -> None:
    leader = leading(log)
    add(leader, 5)
    leader.fetched(2, 2, 0)
    leader.fetched(3, 1, 0)
    assert leader.left_behind(0, lag_ms_max=1000, lag_max=3) == {3}


@pytest.mark.parametrize(
    ("offset", "broker"),
    [(0, 2), (2, 2), (3, -1)],
    ids=["what-it-has", "its-end-where-more-will-come", "what-it-has-not-got-yet"],
)
def test_who_reads_nearby_is_sent_to_a_replica_that_has_all_before(
    log: PartitionLog, offset: int, broker: int
) -> None:
    leader = leading(log, 1, 2)
    add(leader, 3)
    leader.fetched(2, 2, now_ms=0)
    leader.fetched(3, 3, now_ms=0)
    assert leader.near({2, 3}, offset) == broker
    assert leader.near({3}, offset) == -1, "that one is not in sync"


def test_the_end_of_a_term_wakes_all_who_wait(log: PartitionLog) -> None:
    leader = leading(log)
    woken: list[str] = []
    leader.reached(5).watch(lambda: woken.append("producer"))
    leader.moved.watch(lambda: woken.append("consumer"))
    leader.grown.watch(lambda: woken.append("follower"))
    leader.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert woken == ["producer", "consumer", "follower"]
    assert leader.over is ErrorCode.NOT_LEADER_OR_FOLLOWER
