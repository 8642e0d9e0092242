"""What a controller writes, and a leader of its in-sync replicas; and who is the controller."""

from __future__ import annotations

import pytest
from tests.metadata.staging import ID, Cluster, broker

from penstock.errors import Refused
from penstock.metadata.changes import Commit, create_topic, delete_topic
from penstock.metadata.cluster_changes import announce_leaving, join, note_mark
from penstock.metadata.election import (
    PARTITIONS_A_COMMIT,
    Place,
    WantedIsr,
    change_isr,
    leaderless_first,
    resign,
    settle_partitions,
)
from penstock.metadata.records import TERM, DeletedRecord, TermRecord, deleted_key, encode
from penstock.metadata.sweeping import DELETED_MAX, forget_deleted, sweep
from penstock.metadata.terms import begin_term, take_lease


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster("", "", "")
    elect(cluster, 1)
    return cluster


def elect(cluster: Cluster, node_id: int, session: str = "") -> None:
    session = session or f"session {node_id}"
    cluster.apply(take_lease(cluster.image, node_id, session))
    cluster.apply(begin_term(cluster.image, node_id, session))


def settle(cluster: Cluster, *places: Place) -> int:
    """How many commits it took."""
    topics = cluster.image.topics.values()
    all_places = [(topic.id, i) for topic in topics for i in range(topic.record.partitions)]
    commits = 0
    while (commit := settle_partitions(cluster.image, places or all_places)).puts:
        cluster.apply(commit)
        commits += 1
    return commits


def leaders(cluster: Cluster) -> list[tuple[int, int]]:
    records = cluster.image.topics["orders"].partitions
    return [(record.leader, record.leader_epoch) for record in records if record]


# The controller


def test_the_first_to_take_the_lease_is_the_controller(cluster: Cluster) -> None:
    assert cluster.image.controller_id == 1
    other = take_lease(cluster.image, 2, "session 2")
    assert (other.answer, other.puts) == (False, ())
    assert begin_term(cluster.image, 2, "session 2").answer is False


def test_a_broker_that_has_the_lease_and_no_term_yet_is_no_controller() -> None:
    cluster = Cluster("")
    cluster.apply(take_lease(cluster.image, 1, "session 1"))
    assert cluster.image.controller_id == -1


def test_a_restarted_controller_takes_its_lease_over_and_begins_another_term(
    cluster: Cluster,
) -> None:
    before = cluster.image.single(TermRecord)
    elect(cluster, 1, "another session")
    after = cluster.image.single(TermRecord)
    assert before is not None
    assert after is not None
    assert after.record.epoch == before.record.epoch + 1
    assert not take_lease(cluster.image, 1, "another session").puts


def test_a_controller_compares_its_term_in_all_it_writes(cluster: Cluster) -> None:
    cluster.create(assignments={0: [3, 2]})
    cluster.lose(3)
    term = cluster.image.single(TermRecord)
    assert term is not None
    commit = settle_partitions(cluster.image, [(ID, 0)])
    assert (TERM, term.revision) in commit.checks


# Elections


def test_what_a_dead_broker_led_is_led_by_others_in_as_many_commits_as_it_takes(
    cluster: Cluster,
) -> None:
    count = 2 * PARTITIONS_A_COMMIT + 1
    cluster.create(assignments={index: [3, 1, 2] for index in range(count)})
    cluster.lose(3)
    assert settle(cluster) == 3
    assert set(leaders(cluster)) == {(1, 1)}
    assert settle(cluster) == 0


def test_what_nobody_leads_comes_before_what_has_lost_a_follower(cluster: Cluster) -> None:
    cluster.create(assignments={0: [1, 3], 1: [3, 1], 2: [2, 3], 3: [3, 2]})
    cluster.lose(3)
    assert leaderless_first(cluster.image, [(ID, index) for index in range(5)]) == [
        *((ID, 1), (ID, 3), (ID, 4)),
        *((ID, 0), (ID, 2)),
    ], "one that is not there included"


def test_a_broker_that_is_about_to_stop_hands_over_what_others_can_lead(cluster: Cluster) -> None:
    cluster.create(assignments={0: [2, 1]})
    cluster.create("alone", bytes(16), assignments={0: [2]})
    cluster.apply(announce_leaving(cluster.image, 2, "session 2"))
    settle(cluster)
    assert leaders(cluster) == [(1, 1)]
    alone = cluster.image.topics["alone"].partition(0)
    assert alone is not None
    assert (alone.leader, alone.isr) == (2, (2,)), "nobody else can"
    cluster.lose(2)
    settle(cluster)
    alone = cluster.image.topics["alone"].partition(0)
    assert alone is not None
    assert (alone.leader, alone.isr) == (-1, (2,))


def test_a_leader_that_crashed_and_came_back_unnoticed_begins_a_new_term(cluster: Cluster) -> None:
    cluster.create(assignments={0: [2, 1], 1: [1, 2]})
    again = broker(2, clean=False, incarnation=b"2")
    cluster.register(again, "session 2b")
    assert settle(cluster) == 1
    assert leaders(cluster) == [(2, 1), (1, 0)]
    assert settle(cluster) == 0


def test_a_leader_that_was_stopped_cleanly_goes_on_with_its_term(cluster: Cluster) -> None:
    cluster.create(assignments={0: [2, 1]})
    cluster.register(broker(2, incarnation=b"2"), "session 2b")
    assert settle(cluster) == 0


def test_a_topic_may_be_led_by_anyone_if_its_settings_say_so(cluster: Cluster) -> None:
    cluster.create(assignments={0: [3, 2]}, configs={"unclean.leader.election.enable": "true"})
    cluster.lose(2)
    settle(cluster)
    cluster.lose(3)
    cluster.register(broker(2), "session 2b")
    settle(cluster)
    assert leaders(cluster) == [(2, 1)]


# In-sync replicas


def isr_of(cluster: Cluster) -> tuple[int, ...]:
    record = cluster.image.topics["orders"].partition(0)
    assert record is not None
    return record.isr


def wanted(*isr: int, epoch: int = 0, is_repeated: bool = False) -> dict[Place, WantedIsr]:
    return {(ID, 0): WantedIsr(epoch, frozenset(isr), is_repeated)}


def test_a_leader_changes_its_in_sync_replicas_with_its_own_epoch_checked(cluster: Cluster) -> None:
    cluster.create(assignments={0: [1, 2, 3]})
    epoch = cluster.image.brokers[1].epoch
    commit = change_isr(cluster.image, 1, wanted(3, 1), broker_epoch=epoch)
    assert ("/brokers/1", epoch) in commit.checks
    cluster.apply(commit)
    assert isr_of(cluster) == (1, 3), "in the order of the replicas"


@pytest.mark.parametrize(("node_id", "epoch"), [(2, 0), (1, 1)])
def test_who_does_not_lead_or_not_in_that_term_changes_nothing(
    cluster: Cluster, node_id: int, epoch: int
) -> None:
    cluster.create(assignments={0: [1, 2, 3]})
    assert not change_isr(cluster.image, node_id, wanted(1, epoch=epoch), broker_epoch=1).puts


def test_a_broker_that_is_gone_or_going_is_not_taken_in(cluster: Cluster) -> None:
    cluster.create(assignments={0: [1, 2, 3]})
    own = cluster.image.brokers[1].epoch
    cluster.apply(change_isr(cluster.image, 1, wanted(1), broker_epoch=own))
    cluster.lose(2)
    cluster.apply(announce_leaving(cluster.image, 3, "session 3"))
    assert not change_isr(cluster.image, 1, wanted(1, 2, 3), broker_epoch=own).puts


def test_a_change_that_is_repeated_is_written_so_that_what_is_under_way_comes_to_nothing(
    cluster: Cluster,
) -> None:
    cluster.create(assignments={0: [1, 2, 3]})
    own = cluster.image.brokers[1].epoch
    assert not change_isr(cluster.image, 1, wanted(1, 2, 3), broker_epoch=own).puts
    cluster.apply(change_isr(cluster.image, 1, wanted(1, 2, 3, is_repeated=True), broker_epoch=own))
    record = cluster.image.topics["orders"].partition(0)
    assert record is not None
    assert (record.isr, record.partition_epoch) == ((1, 2, 3), 1)


def test_the_topics_that_were_deleted_last_are_remembered(cluster: Cluster) -> None:
    cluster.create()
    cluster.apply(delete_topic(cluster.image, "orders", nonce=b"n"))
    assert cluster.image.deleted[ID].record.name == "orders"
    assert forget_deleted(cluster.image).answer == 0
    record = encode(DeletedRecord(name="more"))
    for number in range(DELETED_MAX):
        cluster.apply(Commit(None, puts=[(deleted_key(b"%016d" % number), record)]))
    commit = forget_deleted(cluster.image)
    assert (commit.answer, commit.deletes) == (1, [deleted_key(ID)])
    cluster.apply(commit)
    assert len(cluster.image.deleted) == DELETED_MAX


def test_as_many_are_forgotten_at_once_as_a_commit_takes(cluster: Cluster) -> None:
    record = encode(DeletedRecord(name="more"))
    for number in range(DELETED_MAX + PARTITIONS_A_COMMIT + 1):
        cluster.apply(Commit(None, puts=[(deleted_key(b"%016d" % number), record)]))
    first = forget_deleted(cluster.image)
    cluster.apply(first)
    assert (first.answer, forget_deleted(cluster.image).answer) == (PARTITIONS_A_COMMIT, 1)


# Brokers that lost something


def test_a_members_mark_is_raised_and_never_lowered(cluster: Cluster) -> None:
    cluster.lose(2)
    cluster.apply(join(cluster.image, 2, b"2", 3))
    cluster.apply(note_mark(cluster.image, 2, b"2", 4))
    assert cluster.image.members[2].record.mark == 4
    assert not note_mark(cluster.image, 2, b"2", 4).puts
    assert not note_mark(cluster.image, 2, b"another", 9).puts
    assert not note_mark(cluster.image, 7, b"7", 9).puts


def test_a_broker_with_another_data_folder_is_in_sync_nowhere(cluster: Cluster) -> None:
    cluster.create(assignments={0: [2, 1], 1: [1, 2], 2: [1, 3]})
    with pytest.raises(Refused):
        join(cluster.image, 2, b"another")
    cluster.lose(2)
    assert join(cluster.image, 2, b"2").answer is True
    new = join(cluster.image, 2, b"another")
    assert new.answer is False
    cluster.apply(new)
    commit = resign(cluster.image, 2, lambda topic, index: True)
    assert commit.answer == 2
    cluster.apply(commit)
    records = [record for record in cluster.image.topics["orders"].partitions if record]
    assert [(record.leader, record.isr) for record in records] == [
        (-1, (1,)),
        (1, (1,)),
        (1, (1, 3)),
    ]
    settle(cluster)
    assert leaders(cluster) == [(1, 2), (1, 0), (1, 0)]
    assert resign(cluster.image, 2, lambda topic, index: True).answer == 0


def test_a_broker_resigns_only_where_it_has_lost_records(cluster: Cluster) -> None:
    cluster.create(assignments={0: [2, 1], 1: [1, 2]})
    commit = resign(cluster.image, 2, lambda topic, index: index == 1)
    cluster.apply(commit)
    assert leaders(cluster) == [(2, 0), (1, 0)]


# Leftovers


def test_what_is_left_of_topics_that_are_not_there_is_deleted(cluster: Cluster) -> None:
    cluster.create(assignments={0: [1]})
    count = PARTITIONS_A_COMMIT + 1
    lost, young = b"l" * 16, b"y" * 16
    for topic_id, name in ((lost, "lost"), (young, "young")):
        commit = create_topic(
            cluster.image, name, topic_id=topic_id, now_ms=1, partitions=count, replication=1
        )
        cluster.apply(Commit(None, ahead=commit.ahead))
    assert {topic_id for topic_id, _ in cluster.image.orphans()} == {lost, young}
    answers = []
    while (swept := sweep(cluster.image, {lost, ID})).deletes:
        cluster.apply(swept)
        answers.append(swept.answer)
    assert answers == [PARTITIONS_A_COMMIT, 1]
    assert {topic_id for topic_id, _ in cluster.image.orphans()} == {young}
    assert leaders(cluster) == [(1, 0)]
