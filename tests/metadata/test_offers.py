"""Unclean elections: those that are up say what they have, and who has most leads."""

from __future__ import annotations

import msgspec
import pytest
from tests.metadata.staging import ID, Cluster, broker

from penstock.metadata.changes import Commit
from penstock.metadata.election import settle_partitions
from penstock.metadata.leadership import unclean
from penstock.metadata.offering import offer
from penstock.metadata.offers import NOBODY
from penstock.metadata.records import PartitionRecord, encode, partition_key
from penstock.metadata.terms import begin_term, take_lease

PLACE = ID, 0


@pytest.fixture
def cluster() -> Cluster:
    """Broker 4 alone was in sync, and is lost; any of 1, 2 and 3 may lead."""
    cluster = Cluster("", "", "", "")
    cluster.apply(take_lease(cluster.image, 1, "session 1"))
    cluster.apply(begin_term(cluster.image, 1, "session 1"))
    configs = {"unclean.leader.election.enable": "true"}
    cluster.create(assignments={0: [1, 2, 3, 4]}, configs=configs)
    alone = msgspec.structs.replace(record(cluster), isr=(4,), leader=4)
    cluster.apply(Commit(None, puts=[(partition_key(*PLACE), encode(alone))]))
    cluster.lose(4)
    return cluster


def record(cluster: Cluster) -> PartitionRecord:
    found = cluster.image.partition(*PLACE)
    assert found is not None
    return found


def settle(cluster: Cluster) -> int:
    while (commit := settle_partitions(cluster.image, [PLACE])).puts:
        cluster.apply(commit)
    return record(cluster).leader


def say(cluster: Cluster, node_id: int, epoch: int, end: int) -> None:
    cluster.apply(offer(cluster.image, node_id, {PLACE: (epoch, end)}))


def test_nobody_leads_before_all_that_are_up_have_said_what_they_have(cluster: Cluster) -> None:
    assert settle(cluster) == NOBODY
    say(cluster, 1, 5, 100)
    assert not offer(cluster.image, 1, {PLACE: (5, 100)}).puts, "once is enough"
    say(cluster, 3, 4, 900)
    assert settle(cluster) == NOBODY
    say(cluster, 2, 5, 500)
    assert settle(cluster) == 2, "by the last epoch, and then by the end"
    assert (record(cluster).isr, record(cluster).offers) == ((2,), None)


def test_who_is_gone_is_not_waited_for(cluster: Cluster) -> None:
    settle(cluster)
    say(cluster, 1, 5, 100)
    say(cluster, 3, 5, 300)
    cluster.lose(2)
    assert settle(cluster) == 3


def test_the_only_one_that_is_up_need_not_be_asked(cluster: Cluster) -> None:
    cluster.lose(2)
    cluster.lose(3)
    assert settle(cluster) == 1


def test_who_has_all_leads_when_it_comes_back_meanwhile(cluster: Cluster) -> None:
    settle(cluster)
    say(cluster, 1, 5, 100)
    cluster.register(broker(4), "session 4")
    assert settle(cluster) == 4
    assert record(cluster).offers is None


def test_who_has_started_again_is_asked_again(cluster: Cluster) -> None:
    """It may have lost something since."""
    settle(cluster)
    for node_id, end in ((1, 100), (2, 500), (3, 300)):
        say(cluster, node_id, 5, end)
    cluster.register(broker(2), "session 2b")
    assert settle(cluster) == NOBODY
    say(cluster, 2, 5, 0)
    assert settle(cluster) == 3


def test_an_election_that_is_asked_for_goes_by_what_was_said(cluster: Cluster) -> None:
    settle(cluster)
    say(cluster, 1, 5, 100)
    say(cluster, 2, 5, 500)
    elected = unclean(cluster.image, "orders-0", record(cluster))
    assert (elected.leader, elected.isr, elected.offers) == (2, (2,), None)
