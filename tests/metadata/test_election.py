"""Who leads a partition when brokers come and go, and who is in sync with it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.metadata.election import Rules, settled
from penstock.metadata.offers import NOBODY
from penstock.metadata.records import PartitionRecord

SAFE = Rules(min_isr=2, unclean=False)
UNCLEAN = Rules(min_isr=2, unclean=True)


def record(*replicas: int, **rest: Any) -> PartitionRecord:
    """Led by the first replica, with all in sync, unless said otherwise."""
    values = {"replicas": replicas, "leader": replicas[0], "isr": replicas, "leader_epoch": 5}
    return PartitionRecord(**{**values, **rest})


def state(partition: PartitionRecord) -> tuple[int, tuple[int, ...], tuple[int, ...], int]:
    return partition.leader, partition.isr, partition.eligible, partition.leader_epoch


def test_a_partition_whose_replicas_are_all_up_stays_as_it_is() -> None:
    before = record(1, 2, 3)
    assert settled(before, {1, 2, 3}, SAFE) is before


def test_when_a_leader_dies_the_next_replica_in_sync_leads_a_new_term() -> None:
    assert state(settled(record(1, 2, 3), {2, 3}, SAFE)) == (2, (2, 3), (), 6)


def test_a_replica_that_is_not_in_sync_is_passed_over() -> None:
    assert state(settled(record(1, 2, 3, isr=(1, 3)), {2, 3}, SAFE))[:2] == (3, (3,))


def test_a_dead_follower_is_in_sync_no_more_within_the_same_term() -> None:
    after = settled(record(1, 2, 3), {1, 2}, SAFE)
    assert state(after) == (1, (1, 2), (), 5)
    assert after.partition_epoch == 1


def test_who_falls_out_of_sync_below_the_minimum_stays_eligible() -> None:
    assert state(settled(record(1, 2), {1}, SAFE)) == (1, (1,), (2,), 5)


def test_nobody_is_eligible_besides_as_long_as_enough_are_in_sync() -> None:
    before = record(1, 2, 3, isr=(1, 2), eligible=(3,))
    assert settled(before, {1, 2, 3}, SAFE).eligible == ()


def test_an_eligible_replica_leads_when_nobody_in_sync_is_left() -> None:
    alone = record(1, 2, isr=(1,), eligible=(2,))
    assert state(settled(alone, {2}, SAFE)) == (2, (2,), (1,), 6)


def test_without_anyone_who_has_all_there_is_no_leader_and_what_is_known_is_kept() -> None:
    gone = settled(record(1, 2, 3, isr=(1,)), {2, 3}, SAFE)
    assert state(gone) == (NOBODY, (1,), (), 6)
    assert settled(gone, {2, 3}, SAFE) is gone
    assert state(settled(gone, {1, 2, 3}, SAFE)) == (1, (1,), (), 7)


def test_a_topic_that_would_rather_lose_records_is_led_by_anyone() -> None:
    assert state(settled(record(1, 2, 3, isr=(1,)), {3}, UNCLEAN)) == (3, (3,), (), 6)


def test_a_partition_with_nobody_in_sync_waits_for_somebody_to_decide() -> None:
    empty = record(1, 2, isr=(), leader=NOBODY)
    assert settled(empty, {1, 2}, SAFE) is empty
    assert settled(empty, {1, 2}, UNCLEAN).leader == 1


def test_a_leader_whose_process_is_another_one_begins_a_new_term() -> None:
    assert state(settled(record(1, 2), {1, 2}, SAFE, leader_is_new=True)) == (1, (1, 2), (), 6)


BROKERS = (1, 2, 3, 4)
some_brokers = st.lists(st.sampled_from(BROKERS), unique=True).map(tuple)


@st.composite
def partitions(draw: st.DrawFn) -> PartitionRecord:
    replicas = draw(some_brokers.filter(bool))
    isr = tuple(each for each in replicas if draw(st.booleans()))
    leader = draw(st.sampled_from((*isr, NOBODY)))
    eligible = tuple(each for each in replicas if each not in isr and draw(st.booleans()))
    return PartitionRecord(replicas=replicas, leader=leader, isr=isr, eligible=eligible)


@given(partitions(), st.sets(st.sampled_from(BROKERS)), st.integers(1, 3))
def test_a_leader_is_up_and_has_all_that_is_committed(
    before: PartitionRecord, up: set[int], min_isr: int
) -> None:
    after = settled(before, up, Rules(min_isr, unclean=False))
    if after.leader != NOBODY:
        assert after.leader in up
        assert after.leader in after.isr
        assert after.leader in (*before.isr, *before.eligible)
    assert set(after.isr) <= {*before.isr, *before.eligible}
    assert not set(after.isr) & set(after.eligible)
    assert settled(after, up, Rules(min_isr, unclean=False)) is after, "once is enough"


@given(partitions(), st.sets(st.sampled_from(BROKERS)))
def test_someone_leads_whenever_someone_can(before: PartitionRecord, up: set[int]) -> None:
    after = settled(before, up, SAFE)
    known = {*before.isr} | ({*before.eligible} if len(before.isr) < SAFE.min_isr else set())
    assert (after.leader != NOBODY) == bool(known & up)
    if up & set(before.replicas):
        assert settled(before, up, UNCLEAN).leader != NOBODY


@pytest.mark.parametrize("field", ["leader_epoch", "partition_epoch"])
@given(partitions(), st.sets(st.sampled_from(BROKERS)))
def test_epochs_never_go_back(field: str, before: PartitionRecord, up: set[int]) -> None:
    before = msgspec.structs.replace(before, leader_epoch=9, partition_epoch=9)
    after = settled(before, up, UNCLEAN)
    assert getattr(after, field) >= 9
    assert after.leader == before.leader or after.leader_epoch == 10
