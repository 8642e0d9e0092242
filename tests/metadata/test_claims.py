"""Who leads after the store was put back: the replica that has most, once all have spoken."""

from __future__ import annotations

import logging

import msgspec
import pytest
from tests.metadata.staging import ID, Cluster, broker

from penstock.errors import Refused
from penstock.metadata.backup import restored
from penstock.metadata.changes import Commit
from penstock.metadata.claims import NOTHING, missing, proved
from penstock.metadata.election import PARTITIONS_A_COMMIT, settle_partitions
from penstock.metadata.leadership import elect, unclean
from penstock.metadata.reassignment import reassign
from penstock.metadata.records import Claim, PartitionRecord, encode
from penstock.metadata.returning import claim, unclaimed
from penstock.metadata.store import Entry
from penstock.metadata.terms import begin_term, take_lease
from penstock.world.real import RealChance

PLACE = (ID, 0)
NOW_MS = 0


@pytest.fixture
def cluster() -> Cluster:
    """Put back, and no broker has been started yet. One partition on three."""
    return put_back({0: [1, 2, 3]})


def put_back(assignments: dict[int, list[int]], **configs: str) -> Cluster:
    before = Cluster("", "", "")
    before.create(
        assignments=assignments, configs={n.replace("_", "."): t for n, t in configs.items()}
    )
    held = [Entry(key, encode(record), 1) for key, record, _ in before.image.held()]
    after = Cluster()
    puts = restored(held, NOW_MS, RealChance())
    own = [put for put in puts if put[0] not in after.revisions]
    after._write(own, (), None)
    return after


def start(cluster: Cluster, node_id: int, epoch: int, end: int) -> None:
    cluster.apply(claim(cluster.image, node_id, lambda topic, index: (epoch, end)))
    cluster.register(broker(node_id), f"session {node_id}")
    if cluster.image.controller_id == -1:
        cluster.apply(take_lease(cluster.image, node_id, f"session {node_id}"))
        cluster.apply(begin_term(cluster.image, node_id, f"session {node_id}"))
    settle(cluster)


def settle(cluster: Cluster) -> None:
    while (commit := settle_partitions(cluster.image, [PLACE])).puts:
        cluster.apply(commit)


def at(cluster: Cluster) -> PartitionRecord:
    found = cluster.image.partition(*PLACE)
    assert found is not None
    return found


def test_nobody_leads_before_all_have_spoken(cluster: Cluster) -> None:
    start(cluster, 1, 4, 100)
    start(cluster, 2, 4, 100)
    assert at(cluster).leader == -1
    assert missing(at(cluster)) == [3]
    start(cluster, 3, 4, 100)
    assert (at(cluster).leader, at(cluster).isr, at(cluster).claims) == (1, (1, 2, 3), None)


def test_who_was_in_sync_when_the_backup_was_made_and_is_behind_does_not_lead(
    cluster: Cluster,
) -> None:
    start(cluster, 1, 4, 60)
    start(cluster, 2, 4, 100)
    start(cluster, 3, 4, 100)
    assert (at(cluster).leader, at(cluster).isr) == (2, (2, 3))


def test_records_of_a_later_epoch_count_more_than_many_of_an_earlier_one(cluster: Cluster) -> None:
    start(cluster, 1, 4, 100)
    start(cluster, 2, 5, 60)
    start(cluster, 3, *NOTHING)
    assert (at(cluster).leader, at(cluster).isr) == (2, (2,))


def test_a_new_leader_has_an_epoch_of_its_own(cluster: Cluster) -> None:
    before = at(cluster).leader_epoch
    for node_id in (1, 2, 3):
        start(cluster, node_id, 4, 100)
    assert at(cluster).leader_epoch == before + 1


def test_a_new_leaders_epoch_is_above_all_that_the_replicas_have_seen(cluster: Cluster) -> None:
    """Of a life that began later by another clock, or from the same backup."""
    seen = at(cluster).leader_epoch + 5
    start(cluster, 1, 4, 100)
    start(cluster, 2, seen, 100)
    start(cluster, 3, *NOTHING)
    assert at(cluster).leader_epoch == seen + 1


def test_what_a_broker_says_at_a_later_start_takes_the_place_of_what_it_said(
    cluster: Cluster,
) -> None:
    cluster.apply(claim(cluster.image, 1, lambda topic, index: (4, 100)))
    cluster.apply(claim(cluster.image, 1, lambda topic, index: (4, 90)))
    assert at(cluster).claims == (Claim(1, 4, 90),)
    assert not claim(cluster.image, 1, lambda topic, index: (4, 90)).puts


def test_who_has_most_is_waited_for_if_it_is_down_by_then(cluster: Cluster) -> None:
    cluster.apply(claim(cluster.image, 1, lambda topic, index: (4, 100)))
    start(cluster, 2, 4, 60)
    start(cluster, 3, 4, 60)
    assert (at(cluster).leader, at(cluster).isr, at(cluster).claims) == (-1, (1,), None)
    cluster.register(broker(1), "session 1")
    settle(cluster)
    assert at(cluster).leader == 1


def test_a_replica_that_was_being_added_may_have_all_by_now_and_is_waited_for() -> None:
    record = PartitionRecord(
        replicas=(1, 2), adding=(2,), leader=-1, isr=(), claims=(Claim(1, -1, 0),)
    )
    assert proved(record) is record
    both = msgspec.structs.replace(record, claims=(Claim(1, -1, 0), Claim(2, 3, 5)))
    assert proved(both).isr == (2,)


def test_as_many_partitions_are_claimed_as_a_commit_takes() -> None:
    count = PARTITIONS_A_COMMIT + 1
    cluster = put_back({index: [1, 2] for index in range(count)})
    assert len(unclaimed(cluster.image, 1)) == count
    ends = {"orders": (3, 7)}
    first: Commit[int] = claim(cluster.image, 1, lambda topic, index: ends[topic.name])
    cluster.apply(first)
    second = claim(cluster.image, 1, lambda topic, index: ends[topic.name])
    assert (first.answer, second.answer) == (PARTITIONS_A_COMMIT, 1)


def test_who_does_not_want_to_wait_for_a_lost_broker_can_elect_the_best_that_is_up(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    start(cluster, 1, 4, 60)
    start(cluster, 2, 4, 100)
    with caplog.at_level(logging.ERROR):
        cluster.apply(elect(cluster.image, "orders", 0, unclean, nonce=b"n"))
    assert (at(cluster).leader, at(cluster).isr, at(cluster).claims) == (2, (2,), None)
    assert "records may be lost" in caplog.text


def test_one_that_is_up_and_has_not_spoken_is_waited_for_even_where_records_may_be_lost() -> None:
    """It has nothing for all that is known, and may have most."""
    cluster = put_back({0: [1, 2, 3]}, unclean_leader_election_enable="true")
    cluster.register(broker(3))
    start(cluster, 2, 4, 60)
    assert at(cluster).leader == -1
    cluster.lose(3)
    start(cluster, 3, 4, 100)
    assert (at(cluster).leader, at(cluster).isr) == (3, (3,))


def test_a_topic_that_would_rather_lose_records_than_wait_does_not_wait(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = put_back({0: [1, 2, 3]}, unclean_leader_election_enable="true")
    with caplog.at_level(logging.ERROR):
        start(cluster, 2, 4, 60)
    assert (at(cluster).leader, at(cluster).isr) == (2, (2,))
    assert "records may be lost" in caplog.text


def test_nobody_is_added_before_all_have_said_what_they_have() -> None:
    """It would be waited for, and has nothing to say before its next start."""
    cluster = put_back({0: [1, 2]})
    cluster.register(broker(3))
    start(cluster, 1, 4, 60)
    with pytest.raises(Refused, match=r"before brokers \[2\] have been started"):
        reassign(cluster.image, "orders", 0, [1, 3], nonce=b"n")
    start(cluster, 2, 4, 60)
    cluster.apply(reassign(cluster.image, "orders", 0, [1, 3], nonce=b"n"))
    assert at(cluster).adding == (3,)
