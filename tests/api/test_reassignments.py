"""AlterPartitionReassignments and ListPartitionReassignments."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.api.desk import Desk, refuse_second_change

from penstock.api.change_each import COMMIT_ITEMS_MAX
from penstock.errors import ErrorCode
from penstock.wire.messages.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from penstock.wire.messages.k46_list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)

Listed = dict[tuple[str, int], tuple[list[int], list[int], list[int]]]


@pytest.fixture
def cluster(desk: Desk) -> Desk:
    for node_id in (2, 3):
        desk.register(node_id)
    desk.create("orders", partitions=2)
    return desk


def alter(
    desk: Desk, wanted: Mapping[tuple[str, int], list[int] | None], version: int = 1, **rest: bool
) -> dict[tuple[str, int], int]:
    topics: dict[str, list[ReassignablePartition]] = {}
    for (name, index), replicas in wanted.items():
        topics.setdefault(name, []).append(ReassignablePartition(index, replicas))
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(*item) for item in topics.items()], **rest
    )
    answer = desk.ask(request, version)
    assert answer.error_code == 0
    return {
        (topic.name, each.partition_index): each.error_code
        for topic in answer.responses
        for each in topic.partitions
    }


def listed(desk: Desk, wanted: dict[str, list[int]] | None = None) -> Listed:
    topics = [ListPartitionReassignmentsTopics(*item) for item in (wanted or {}).items()]
    answer = desk.ask(ListPartitionReassignmentsRequest(topics=topics if wanted else None))
    return {
        (topic.name, each.partition_index): (
            each.replicas,
            each.adding_replicas,
            each.removing_replicas,
        )
        for topic in answer.topics
        for each in topic.partitions
    }


def holder(desk: Desk, index: int = 0) -> int:
    topic = desk.image.topic("orders")
    assert topic is not None
    record = topic.partition(index)
    assert record is not None
    return record.leader


def other(desk: Desk, index: int = 0) -> int:
    return holder(desk, index) % 3 + 1


@pytest.mark.parametrize("version", [0, 1])
def test_a_move_begins_is_listed_and_can_be_cancelled(cluster: Desk, version: int) -> None:
    old, new = holder(cluster), other(cluster)
    assert alter(cluster, {("orders", 0): [new]}, version) == {("orders", 0): 0}
    assert listed(cluster) == {("orders", 0): ([new, old], [new], [old])}
    assert alter(cluster, {("orders", 0): None}, version) == {("orders", 0): 0}
    assert listed(cluster) == {}
    gone = alter(cluster, {("orders", 0): None}, version)
    assert gone == {("orders", 0): ErrorCode.NO_REASSIGNMENT_IN_PROGRESS}


def test_one_refused_partition_does_not_hold_up_the_others(cluster: Desk) -> None:
    found = alter(
        cluster,
        {
            ("orders", 1): [other(cluster, 1)],
            ("orders", 0): [9],
            ("orders", 7): [1],
            ("unknown", 0): [1],
        },
    )
    assert found == {
        ("orders", 1): 0,
        ("orders", 0): ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ("orders", 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("unknown", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert list(listed(cluster)) == [("orders", 1)]


def test_a_client_can_insist_on_the_number_of_replicas(cluster: Desk) -> None:
    wanted = {("orders", 0): [1, 2]}
    refused = alter(cluster, wanted, allow_replication_factor_change=False)
    assert refused == {("orders", 0): ErrorCode.INVALID_REPLICATION_FACTOR}
    assert alter(cluster, wanted) == {("orders", 0): 0}


def test_more_partitions_than_a_commit_takes_move_in_several(cluster: Desk) -> None:
    count = 2 * COMMIT_ITEMS_MAX + 5
    cluster.create("many", partitions=count)
    wanted = {("many", index): [1, 2, 3] for index in range(count)}
    cluster.commits.clear()
    assert set(alter(cluster, wanted).values()) == {0}
    assert len(listed(cluster)) == count
    assert len(cluster.commits) == 3


def test_what_was_not_committed_is_answered_so(
    cluster: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = COMMIT_ITEMS_MAX + 5
    cluster.create("many", partitions=count)
    refuse_second_change(cluster, monkeypatch)
    found = alter(cluster, {("many", index): [1, 2, 3] for index in range(count)})
    assert list(found.values()).count(ErrorCode.REQUEST_TIMED_OUT) == 5
    assert len(listed(cluster)) == COMMIT_ITEMS_MAX


def test_a_partition_that_comes_twice_is_refused(cluster: Desk) -> None:
    twice = [ReassignablePartition(0, [1, 2]), ReassignablePartition(0, [2, 3])]
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic("orders", twice)])
    ((result,),) = [topic.partitions for topic in cluster.ask(request).responses]
    assert result.error_code == ErrorCode.INVALID_REQUEST


def test_only_what_is_asked_for_is_listed(cluster: Desk) -> None:
    alter(cluster, {("orders", 0): [1, 2], ("orders", 1): [1, 2]})
    assert list(listed(cluster, {"orders": [1, 9], "unknown": [0]})) == [("orders", 1)]
