"""Elections on request, and leadership that goes back to preferred leaders."""

from __future__ import annotations

import logging

import pytest
from tests.metadata.staging import ID, Cluster, broker

from penstock.errors import ErrorCode, Refused
from penstock.metadata.cluster_changes import announce_leaving
from penstock.metadata.election import WantedIsr, change_isr, settle_partitions
from penstock.metadata.leadership import (
    RETURNED_A_COMMIT,
    Election,
    elect,
    preferred,
    return_leadership,
    unclean,
)
from penstock.metadata.records import PartitionRecord
from penstock.metadata.terms import begin_term, take_lease


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster("", "", "")
    cluster.apply(take_lease(cluster.image, 3, "session 3"))
    cluster.apply(begin_term(cluster.image, 3, "session 3"))
    return cluster


def settle(cluster: Cluster) -> None:
    count = cluster.image.topics["orders"].record.partitions
    places = [(ID, index) for index in range(count)]
    while (commit := settle_partitions(cluster.image, places)).puts:
        cluster.apply(commit)


def lose(cluster: Cluster, *node_ids: int) -> None:
    for node_id in node_ids:
        cluster.lose(node_id)
    settle(cluster)


def come_back(cluster: Cluster, node_id: int, *, in_sync: bool = True) -> None:
    cluster.register(broker(node_id), f"session {node_id}")
    settle(cluster)
    for index in range(cluster.image.topics["orders"].record.partitions if in_sync else 0):
        now = at(cluster, index)
        asked = WantedIsr(now.leader_epoch, frozenset({*now.isr, node_id}))
        epoch = cluster.image.brokers[now.leader].epoch
        cluster.apply(
            change_isr(cluster.image, now.leader, {(ID, index): asked}, broker_epoch=epoch)
        )


def at(cluster: Cluster, index: int = 0) -> PartitionRecord:
    found = cluster.image.partition(ID, index)
    assert found is not None
    return found


def refusal(cluster: Cluster, election: Election) -> ErrorCode:
    with pytest.raises(Refused) as caught:
        elect(cluster.image, "orders", 0, election, nonce=b"n")
    return caught.value.code


def test_the_preferred_leader_leads_again_when_that_is_asked_for(cluster: Cluster) -> None:
    cluster.create(assignments={0: [1, 2, 3]})
    assert refusal(cluster, preferred) is ErrorCode.ELECTION_NOT_NEEDED
    lose(cluster, 1)
    assert refusal(cluster, preferred) is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    come_back(cluster, 1, in_sync=False)
    assert refusal(cluster, preferred) is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    come_back(cluster, 1)
    epoch = at(cluster).leader_epoch
    cluster.apply(elect(cluster.image, "orders", 0, preferred, nonce=b"n"))
    assert (at(cluster).leader, at(cluster).leader_epoch) == (1, epoch + 1)


def test_who_is_about_to_stop_is_given_nothing_to_lead(cluster: Cluster) -> None:
    cluster.create(assignments={0: [1, 2]})
    lose(cluster, 1)
    come_back(cluster, 1)
    cluster.apply(announce_leaving(cluster.image, 1, "session 1"))
    assert refusal(cluster, preferred) is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    assert not return_leadership(cluster.image, 0).puts


def test_an_unclean_election_is_for_partitions_that_nobody_leads_and_is_loud(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.create(assignments={0: [1, 2]})
    assert refusal(cluster, unclean) is ErrorCode.ELECTION_NOT_NEEDED
    lose(cluster, 2)
    lose(cluster, 1)
    assert refusal(cluster, unclean) is ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    come_back(cluster, 2, in_sync=False)
    assert at(cluster).leader == -1
    with caplog.at_level(logging.ERROR):
        cluster.apply(elect(cluster.image, "orders", 0, unclean, nonce=b"n"))
    assert (at(cluster).leader, at(cluster).isr) == (2, (2,))
    assert "records may be lost" in caplog.text


def test_a_partition_that_there_is_not_has_no_elections(cluster: Cluster) -> None:
    cluster.create()
    with pytest.raises(Refused) as caught:
        elect(cluster.image, "orders", 1, preferred, nonce=b"n")
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_leadership_goes_back_some_at_a_time(cluster: Cluster) -> None:
    count = RETURNED_A_COMMIT + 7
    cluster.create(assignments={index: [1, 2] for index in range(count)})
    lose(cluster, 1)
    come_back(cluster, 1)
    numbers = []
    while (commit := return_leadership(cluster.image, 10)).puts:
        cluster.apply(commit)
        numbers.append(commit.answer)
    assert numbers[0] == RETURNED_A_COMMIT
    led = [at(cluster, index).leader for index in range(count)]
    assert led.count(1) >= count - count // 10


def test_a_broker_that_lacks_little_is_left_alone(cluster: Cluster) -> None:
    cluster.create(assignments={index: [1, 2] for index in range(20)})
    lose(cluster, 1)
    come_back(cluster, 1)
    for index in range(19):
        cluster.apply(elect(cluster.image, "orders", index, preferred, nonce=b"n"))
    assert not return_leadership(cluster.image, 10).puts
    assert return_leadership(cluster.image, 0).answer == 1


def test_preferred_leaders_that_are_not_in_sync_get_nothing_back(cluster: Cluster) -> None:
    cluster.create(assignments={0: [1, 2]})
    lose(cluster, 1)
    come_back(cluster, 1, in_sync=False)
    assert not return_leadership(cluster.image, 0).puts
