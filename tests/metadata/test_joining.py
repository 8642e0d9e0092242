"""Who comes to be in sync: only a broker that has caught up in the registration it has now."""

from __future__ import annotations

import pytest
from tests.metadata.staging import ID, Cluster, broker

from penstock.metadata.election import (
    ISR_A_COMMIT,
    WantedIsr,
    change_isr,
    resign,
    settle_partitions,
)
from penstock.metadata.records import PartitionRecord, broker_key
from penstock.metadata.terms import begin_term, take_lease


@pytest.fixture
def cluster() -> Cluster:
    """Broker 3 has been away, and is back."""
    cluster = Cluster("", "", "")
    cluster.apply(take_lease(cluster.image, 1, "session 1"))
    cluster.apply(begin_term(cluster.image, 1, "session 1"))
    cluster.create(assignments={index: [1, 2, 3] for index in range(2 * ISR_A_COMMIT)})
    cluster.lose(3)
    places = [(ID, index) for index in range(2 * ISR_A_COMMIT)]
    while (commit := settle_partitions(cluster.image, places)).puts:
        cluster.apply(commit)
    come_back(cluster)
    return cluster


def come_back(cluster: Cluster) -> int:
    cluster.register(broker(3), "session 3")
    return cluster.image.brokers[3].epoch


def asked(
    cluster: Cluster, registration: int, count: int = 1
) -> dict[tuple[bytes, int], WantedIsr]:
    isr = frozenset({1, 2, 3})
    wanted = WantedIsr(at(cluster).leader_epoch, isr, joining={3: registration})
    return {(ID, index): wanted for index in range(count)}


def at(cluster: Cluster, index: int = 0) -> PartitionRecord:
    found = cluster.image.partition(ID, index)
    assert found is not None
    return found


def test_a_follower_joins_in_the_registration_that_it_has_caught_up_in(cluster: Cluster) -> None:
    epoch = cluster.image.brokers[3].epoch
    own = cluster.image.brokers[1].epoch
    commit = change_isr(cluster.image, 1, asked(cluster, epoch), broker_epoch=own)
    assert (broker_key(3), epoch) in commit.checks
    cluster.apply(commit)
    assert at(cluster).isr == (1, 2, 3)


def test_a_follower_that_was_replaced_since_does_not_join(cluster: Cluster) -> None:
    """What has caught up is gone; what is there now may have an empty disk."""
    before = cluster.image.brokers[3].epoch
    cluster.lose(3)
    cluster.apply(resign(cluster.image, 3, lambda topic, index: True))
    come_back(cluster)
    own = cluster.image.brokers[1].epoch
    assert not change_isr(cluster.image, 1, asked(cluster, before), broker_epoch=own).puts


def test_who_is_in_sync_no_more_does_not_slip_back_in_with_a_change_for_another(
    cluster: Cluster,
) -> None:
    wanted = WantedIsr(at(cluster).leader_epoch, frozenset({1, 3}), joining={})
    own = cluster.image.brokers[1].epoch
    cluster.apply(change_isr(cluster.image, 1, {(ID, 0): wanted}, broker_epoch=own))
    assert at(cluster).isr == (1,)


def test_a_commit_has_room_for_the_registrations(cluster: Cluster) -> None:
    epoch, own = cluster.image.brokers[3].epoch, cluster.image.brokers[1].epoch
    wanted = asked(cluster, epoch, 2 * ISR_A_COMMIT)
    commit = change_isr(cluster.image, 1, wanted, broker_epoch=own)
    assert commit.answer == ISR_A_COMMIT
    cluster.apply(commit)
