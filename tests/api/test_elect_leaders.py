from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.api.desk import Desk

from penstock.errors import ErrorCode
from penstock.metadata.changes import Commit
from penstock.metadata.image import Image
from penstock.metadata.records import PartitionRecord, encode, partition_key
from penstock.wire.messages.k43_elect_leaders import ElectLeadersRequest, TopicPartitions

PREFERRED, UNCLEAN = 0, 1


@pytest.fixture
def cluster(desk: Desk) -> Desk:
    desk.register(2)
    desk.create("orders", partitions=2, replication=2)
    return desk


def record(desk: Desk, index: int = 0) -> PartitionRecord:
    topic = desk.image.topic("orders")
    assert topic is not None
    found = topic.partition(index)
    assert found is not None
    return found


def rewrite(desk: Desk, index: int = 0, **values: Any) -> None:
    topic = desk.image.topic("orders")
    assert topic is not None
    changed = msgspec.structs.replace(record(desk, index), **values)

    def decide(image: Image) -> Commit[None]:
        return Commit(None, puts=[(partition_key(topic.id, index), encode(changed))])

    desk.change(decide)


def elect(
    desk: Desk, kind: int, *indexes: int, version: int = 2, everywhere: bool = False
) -> dict[int, int]:
    wanted = None if everywhere else [TopicPartitions("orders", list(indexes))]
    answer = desk.ask(ElectLeadersRequest(kind, wanted), version)
    assert answer.error_code == 0
    return {
        each.partition_id: each.error_code
        for topic in answer.replica_election_results
        for each in topic.partition_result
    }


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_preferred_leader_gets_its_partition_back(cluster: Desk, version: int) -> None:
    first, second = record(cluster).replicas
    rewrite(cluster, leader=second)
    found = elect(cluster, PREFERRED, 0, 1, 5, version=version)
    assert found == {
        0: 0,
        1: ErrorCode.ELECTION_NOT_NEEDED,
        5: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert (record(cluster).leader, record(cluster).leader_epoch) == (first, 1)


def test_a_preferred_leader_that_is_not_in_sync_gets_nothing(cluster: Desk) -> None:
    _, second = record(cluster).replicas
    rewrite(cluster, leader=second, isr=(second,))
    assert elect(cluster, PREFERRED, 0) == {0: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}


def test_of_all_partitions_only_those_that_matter_are_answered(cluster: Desk) -> None:
    _, second = record(cluster).replicas
    rewrite(cluster, leader=second)
    assert elect(cluster, PREFERRED, everywhere=True) == {0: 0}


def test_anyone_leads_after_an_unclean_election(cluster: Desk) -> None:
    first, second = record(cluster).replicas
    rewrite(cluster, leader=-1, isr=(9,), replicas=(9, second))
    assert elect(cluster, UNCLEAN, 0, 1) == {0: 0, 1: ErrorCode.ELECTION_NOT_NEEDED}
    assert (record(cluster).leader, record(cluster).isr) == (second, (second,))
    assert first != second


def test_where_nobody_is_up_nobody_is_elected(cluster: Desk) -> None:
    rewrite(cluster, leader=-1, isr=(9,), replicas=(9, 8))
    assert elect(cluster, UNCLEAN, 0) == {0: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE}


def test_there_is_no_third_kind_of_election(cluster: Desk) -> None:
    answer = cluster.ask(ElectLeadersRequest(7, None))
    assert answer.error_code == ErrorCode.INVALID_REQUEST
