"""Replicas that move to other brokers: begun by anyone, carried on by the controller."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metadata.staging import ID, Cluster, broker

from penstock.errors import ErrorCode, Refused
from penstock.metadata.election import WantedIsr, change_isr, settle_partitions
from penstock.metadata.growth import settle_factor, widen_topic
from penstock.metadata.internal_topics import OFFSETS
from penstock.metadata.reassignment import (
    before,
    begun,
    cancelled,
    completed,
    is_moving,
    reassign,
    target,
)
from penstock.metadata.records import PartitionRecord, encode, partition_key
from penstock.metadata.terms import begin_term, take_lease

UP = range(1, 10)


def record(*replicas: int, **rest: Any) -> PartitionRecord:
    """Led by the first replica, with all in sync, unless said otherwise."""
    values = {"replicas": replicas, "leader": replicas[0], "isr": replicas, "leader_epoch": 5}
    return PartitionRecord(**{**values, **rest})


def moving(*wanted: int, **rest: Any) -> PartitionRecord:
    return begun(record(1, 2, 3, **rest), wanted, UP)


# Records


def test_a_move_names_those_to_come_first_and_then_those_to_go() -> None:
    begun_one = moving(4, 2, 5)
    assert (begun_one.replicas, begun_one.adding, begun_one.removing) == (
        (4, 2, 5, 1, 3),
        (4, 5),
        (1, 3),
    )
    assert (target(begun_one), before(begun_one)) == ((4, 2, 5), (2, 1, 3))


def test_while_replicas_are_added_the_leader_leads_on_in_its_term() -> None:
    after = moving(4, 5, 6)
    assert (after.leader, after.leader_epoch, after.isr) == (1, 5, (1, 2, 3))
    assert after.partition_epoch == 1


def test_a_move_is_not_over_before_all_that_were_added_are_in_sync() -> None:
    half = moving(4, 5, isr=(1, 2, 4))
    assert completed(half, UP, 1) is half


def test_the_end_of_a_move_leaves_those_who_were_wanted_led_by_one_of_them() -> None:
    done = completed(moving_with_isr((4, 5), (1, 2, 3, 4, 5)), UP, 2)
    assert (done.replicas, done.isr, done.adding, done.removing) == ((4, 5), (4, 5), (), ())
    assert (done.leader, done.leader_epoch) == (4, 6)


def moving_with_isr(wanted: tuple[int, ...], isr: tuple[int, ...]) -> PartitionRecord:
    plan = moving(*wanted)
    return record(*plan.replicas, leader=1, adding=plan.adding, removing=plan.removing, isr=isr)


def test_when_replicas_go_a_term_begins_even_under_the_same_leader() -> None:
    """Who comes back with an empty disk must not be taken for who it was."""
    done = completed(moving_with_isr((1, 4), (1, 2, 3, 4)), UP, 1)
    assert (done.leader, done.leader_epoch, done.replicas) == (1, 6, (1, 4))


def test_nobody_goes_while_too_few_of_the_others_are_in_sync() -> None:
    """1 is to go, 2 and 3 are down: with 1 the partition has two copies, without it one."""
    waiting = moving_with_isr((4, 2, 3), (1, 4))
    assert completed(waiting, UP, 2) is waiting
    assert completed(waiting, UP, 1).isr == (4,)


def test_nobody_goes_while_none_of_the_others_is_up() -> None:
    waiting = moving_with_isr((4,), (1, 4))
    assert completed(waiting, (1, 2, 3), 1) is waiting


def test_a_smaller_number_of_replicas_needs_no_copying() -> None:
    assert completed(moving(2), UP, 1).replicas == (2,)


def test_a_cancelled_move_goes_back_to_those_who_held_it() -> None:
    back = cancelled(moving_with_isr((4, 5), (1, 2, 4)), UP)
    assert sorted(back.replicas) == [1, 2, 3]
    assert (back.isr, back.leader, back.adding, back.removing) == ((1, 2), 1, (), ())
    assert back.leader_epoch == 6


def test_a_move_in_place_of_another_forgets_what_that_one_had_added() -> None:
    again = begun(moving_with_isr((4, 5), (1, 2, 3, 4)), (6, 2), UP)
    assert (again.replicas, again.adding, again.removing) == ((6, 2, 1, 3), (6,), (1, 3))
    assert again.isr == (1, 2, 3)
    assert again.leader_epoch == 6


brokers = st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True).map(tuple)


@given(brokers, brokers, brokers, st.data())
def test_whatever_is_planned_something_in_sync_is_left_and_leads(
    first: tuple[int, ...], wanted: tuple[int, ...], other: tuple[int, ...], data: st.DataObject
) -> None:
    plan = begun(record(*first), wanted, UP)
    in_sync = data.draw(st.sets(st.sampled_from(plan.replicas), min_size=1))
    isr = tuple(sorted(in_sync))
    now = record(*plan.replicas, leader=isr[0], isr=isr, adding=plan.adding, removing=plan.removing)
    after = completed(now, UP, 2)
    assert after.leader in after.isr
    assert set(after.isr) <= set(after.replicas)
    if after is not now:
        assert after.replicas == wanted
        assert len(after.isr) >= min(2, len(now.isr), len(wanted))
    replanned = begun(now, other, UP)
    assert target(replanned) == other
    assert set(before(replanned)) == set(before(now))


# Requests


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster("", "", "", "")
    cluster.apply(take_lease(cluster.image, 1, "session 1"))
    cluster.apply(begin_term(cluster.image, 1, "session 1"))
    cluster.create(assignments={0: [1, 2], 1: [2, 1]})
    return cluster


def ask(cluster: Cluster, wanted: list[int] | None, index: int = 0, **rest: Any) -> None:
    cluster.apply(reassign(cluster.image, "orders", index, wanted, nonce=b"n", **rest))


def at(cluster: Cluster, index: int = 0) -> PartitionRecord:
    found = cluster.image.partition(ID, index)
    assert found is not None
    return found


def catch_up(cluster: Cluster, *isr: int, index: int = 0) -> None:
    now = at(cluster, index)
    epoch = cluster.image.brokers[now.leader].epoch
    asked = {(ID, index): WantedIsr(now.leader_epoch, frozenset(isr))}
    cluster.apply(change_isr(cluster.image, now.leader, asked, broker_epoch=epoch))


def settle(cluster: Cluster) -> None:
    while (commit := settle_partitions(cluster.image, [(ID, 0), (ID, 1)])).puts:
        cluster.apply(commit)
    if (factor := settle_factor(cluster.image, ID)).puts:
        cluster.apply(factor)


def test_the_controller_ends_a_move_once_the_new_ones_are_in_sync(cluster: Cluster) -> None:
    ask(cluster, [3, 4])
    settle(cluster)
    assert is_moving(at(cluster))
    catch_up(cluster, 1, 2, 3)
    settle(cluster)
    assert is_moving(at(cluster))
    catch_up(cluster, 1, 2, 3, 4)
    settle(cluster)
    assert (at(cluster).replicas, at(cluster).leader) == ((3, 4), 3)


def test_a_plan_that_is_there_already_is_not_written_again(cluster: Cluster) -> None:
    ask(cluster, [3, 4])
    assert not reassign(cluster.image, "orders", 0, [3, 4], nonce=b"m").puts
    assert not reassign(cluster.image, "orders", 1, [2, 1], nonce=b"m").puts


def test_another_order_of_the_same_replicas_takes_effect_at_once(cluster: Cluster) -> None:
    ask(cluster, [2, 1])
    assert (at(cluster).replicas, at(cluster).leader, is_moving(at(cluster))) == ((2, 1), 1, False)


def test_a_dead_replica_can_be_replaced(cluster: Cluster) -> None:
    cluster.lose(2)
    settle(cluster)
    ask(cluster, [1, 3])
    catch_up(cluster, 1, 3)
    settle(cluster)
    assert (at(cluster).replicas, at(cluster).isr) == ((1, 3), (1, 3))


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ([], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 1], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 9], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, -1], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
    ],
)
def test_what_cannot_be_is_refused(
    cluster: Cluster, wanted: list[int] | None, code: ErrorCode
) -> None:
    with pytest.raises(Refused) as caught:
        ask(cluster, wanted)
    assert caught.value.code is code


@pytest.mark.parametrize(("name", "index"), [("other", 0), ("orders", 2), ("orders", -1)])
def test_a_partition_that_there_is_not_cannot_move(cluster: Cluster, name: str, index: int) -> None:
    with pytest.raises(Refused) as caught:
        reassign(cluster.image, name, index, [1], nonce=b"n")
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_client_can_insist_on_the_number_of_replicas(cluster: Cluster) -> None:
    with pytest.raises(Refused) as caught:
        ask(cluster, [1], may_change_factor=False)
    assert caught.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
    ask(cluster, [3, 4], may_change_factor=False)


def test_a_move_is_not_cancelled_when_only_the_new_ones_are_in_sync(cluster: Cluster) -> None:
    ask(cluster, [3, 4])
    catch_up(cluster, 1, 2, 3)
    for node_id in (1, 2):
        cluster.lose(node_id)
    settle(cluster)
    assert (at(cluster).leader, at(cluster).isr) == (3, (3,))
    with pytest.raises(Refused, match="none is in sync"):
        ask(cluster, None)


# How many replicas a topic has


def test_a_topic_has_more_replicas_once_all_its_partitions_have_them(cluster: Cluster) -> None:
    ask(cluster, [1, 2, 3], 0)
    ask(cluster, [2, 1, 3], 1)
    catch_up(cluster, 1, 2, 3, index=0)
    settle(cluster)
    assert cluster.image.topics["orders"].record.replication_factor == 2
    catch_up(cluster, 1, 2, 3, index=1)
    settle(cluster)
    assert cluster.image.topics["orders"].record.replication_factor == 3
    assert cluster.image.settings.of_topic(cluster.image.topics["orders"]).min_insync_replicas == 2


def test_a_topic_has_fewer_replicas_once_one_partition_has_fewer(cluster: Cluster) -> None:
    ask(cluster, [1], 0)
    settle(cluster)
    assert cluster.image.topics["orders"].record.replication_factor == 1


def test_a_replica_does_not_go_before_as_many_as_the_topic_asks_for_now_have_all() -> None:
    """With fewer replicas less would be asked for: that must not let them go."""
    cluster = Cluster("", "", "", "")
    cluster.apply(take_lease(cluster.image, 4, "session 4"))
    cluster.apply(begin_term(cluster.image, 4, "session 4"))
    cluster.create(assignments={0: [1, 2, 3]})
    cluster.lose(2)
    settle(cluster)
    ask(cluster, [2, 3])
    for _ in range(3):
        settle(cluster)
    assert (at(cluster).replicas, at(cluster).isr) == ((2, 3, 1), (1, 3))
    assert cluster.image.topics["orders"].record.replication_factor == 3
    cluster.register(broker(2), "session 2")
    catch_up(cluster, 1, 2, 3)
    for _ in range(3):
        settle(cluster)
    assert (at(cluster).replicas, set(at(cluster).isr)) == ((2, 3), {2, 3})
    assert cluster.image.topics["orders"].record.replication_factor == 2


def test_an_internal_topic_grows_as_brokers_join() -> None:
    cluster = Cluster("")
    cluster.apply(take_lease(cluster.image, 1, "session 1"))
    cluster.apply(begin_term(cluster.image, 1, "session 1"))
    cluster.create(OFFSETS, partitions=6)
    assert not widen_topic(cluster.image, OFFSETS, 3).puts
    grown = Cluster("", "", "", "")
    grown.apply(take_lease(grown.image, 1, "session 1"))
    grown.apply(begin_term(grown.image, 1, "session 1"))
    grown.create(OFFSETS, assignments={index: [1] for index in range(6)})
    commit = widen_topic(grown.image, OFFSETS, 3)
    grown.apply(commit)
    assert commit.answer == 6
    records = [each for each in grown.image.topics[OFFSETS].partitions if each is not None]
    assert all(len(each.replicas) == 3 for each in records)
    assert {each.leader for each in records} == {1}
    firsts = [each.replicas[0] for each in records]
    assert max(map(firsts.count, firsts)) <= 3
    assert not widen_topic(grown.image, OFFSETS, 3).puts


def test_an_internal_topic_does_not_grow_while_brokers_say_what_they_have() -> None:
    """After a restore: who is added has nothing to say, and would be waited for."""
    cluster = Cluster("", "", "")
    cluster.apply(take_lease(cluster.image, 1, "session 1"))
    cluster.apply(begin_term(cluster.image, 1, "session 1"))
    cluster.create(OFFSETS, assignments={0: [1], 1: [2]})
    waiting = msgspec.structs.replace(at(cluster, 1), claims=())
    cluster._write([(partition_key(ID, 1), encode(waiting))], (), None)
    assert widen_topic(cluster.image, OFFSETS, 3).answer == 1
    decided = msgspec.structs.replace(waiting, claims=None)
    cluster._write([(partition_key(ID, 1), encode(decided))], (), None)
    assert widen_topic(cluster.image, OFFSETS, 3).answer == 2
