"""How many must be in sync: one number in the partition's record, for its leader and elections."""

from __future__ import annotations

import msgspec
import pytest
from tests.metadata.staging import ID, Cluster, broker

from penstock.metadata.changes import Commit, add_partitions
from penstock.metadata.config_changes import replace_broker_configs, replace_topic_configs
from penstock.metadata.election import WantedIsr, change_isr, settle_partitions
from penstock.metadata.records import PartitionRecord, encode, partition_key
from penstock.metadata.terms import begin_term, take_lease

PLACE = ID, 0


@pytest.fixture
def cluster() -> Cluster:
    """Three replicas of one partition, led by 1; broker 4 is the controller."""
    cluster = Cluster("", "", "", "")
    cluster.apply(take_lease(cluster.image, 4, "session 4"))
    cluster.apply(begin_term(cluster.image, 4, "session 4"))
    cluster.create(assignments={0: [1, 2, 3]})
    return cluster


def record(cluster: Cluster) -> PartitionRecord:
    found = cluster.image.partition(*PLACE)
    assert found is not None
    return found


def settle(cluster: Cluster) -> int:
    commits = 0
    while (commit := settle_partitions(cluster.image, [PLACE])).puts:
        cluster.apply(commit)
        commits += 1
    return commits


def ask_for(cluster: Cluster, minimum: int) -> None:
    configs = {"min.insync.replicas": str(minimum)}
    cluster.apply(
        replace_topic_configs(cluster.image, "orders", configs, nonce=b"%d" % minimum, now_ms=0)
    )


def test_new_partitions_have_their_minimum_from_the_beginning(cluster: Cluster) -> None:
    assert record(cluster).min_isr == 2
    ask_for(cluster, 3)
    cluster.apply(add_partitions(cluster.image, "orders", 2, nonce=b"n"))
    added = cluster.image.partition(ID, 1)
    assert added is not None
    assert added.min_isr == 3


def test_what_is_set_for_all_brokers_comes_to_stand_in_the_record(cluster: Cluster) -> None:
    cluster.apply(replace_broker_configs(cluster.image, None, {"min.insync.replicas": "1"}))
    assert settle(cluster) == 1
    assert (record(cluster).min_isr, record(cluster).leader_epoch) == (1, 0)


def test_a_record_of_before_gets_its_minimum(cluster: Cluster) -> None:
    before = msgspec.structs.replace(record(cluster), min_isr=0)
    cluster.apply(Commit(None, puts=[(partition_key(*PLACE), encode(before))]))
    assert settle(cluster) == 1
    assert record(cluster).min_isr == 2


def test_who_was_eligible_is_not_once_less_is_asked_for_even_if_that_is_taken_back(
    cluster: Cluster,
) -> None:
    """The leader may have acknowledged records meanwhile, alone."""
    cluster.lose(2)
    cluster.lose(3)
    settle(cluster)
    assert (record(cluster).isr, record(cluster).eligible) == ((1,), (2, 3))
    ask_for(cluster, 1)
    assert settle(cluster) == 1
    assert (record(cluster).min_isr, record(cluster).eligible) == (1, ())
    ask_for(cluster, 2)
    cluster.lose(1)
    cluster.register(broker(2), "session 2")
    settle(cluster)
    assert (record(cluster).leader, record(cluster).isr) == (-1, (1,)), "2 may lack them"


def test_less_that_was_asked_for_and_taken_back_unnoticed_has_let_nothing_be_committed(
    cluster: Cluster,
) -> None:
    cluster.lose(2)
    cluster.lose(3)
    settle(cluster)
    ask_for(cluster, 1)
    assert record(cluster).min_isr == 2, "by this the leader goes"
    ask_for(cluster, 2)
    cluster.lose(1)
    cluster.register(broker(2), "session 2")
    settle(cluster)
    assert record(cluster).leader == 2


def test_a_leader_that_drops_replicas_keeps_them_eligible_by_the_minimum_it_commits_by(
    cluster: Cluster,
) -> None:
    ask_for(cluster, 3)  # which is not in the record yet
    wanted = {PLACE: WantedIsr(0, frozenset({1, 2}))}
    epoch = cluster.image.brokers[1].epoch
    cluster.apply(change_isr(cluster.image, 1, wanted, broker_epoch=epoch))
    assert (record(cluster).isr, record(cluster).eligible) == ((1, 2), ())
