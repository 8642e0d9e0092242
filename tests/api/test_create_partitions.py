from __future__ import annotations

import pytest
from tests.api.desk import Desk

from penstock.errors import ErrorCode
from penstock.wire.messages.k37_create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)


def add(desk: Desk, *topics: CreatePartitionsTopic, validate_only: bool = False) -> dict[str, int]:
    answer = desk.ask(CreatePartitionsRequest(list(topics), validate_only=validate_only))
    return {result.name: result.error_code for result in answer.results}


def partitions(desk: Desk, name: str) -> int:
    topic = desk.image.topic(name)
    assert topic is not None
    return topic.record.partitions


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_added_up_to_a_count(desk: Desk, version: int) -> None:
    desk.create("orders", partitions=2)
    request = CreatePartitionsRequest([CreatePartitionsTopic("orders", 5, None)])
    (result,) = desk.ask(request, version).results
    assert (result.error_code, result.error_message) == (0, None)
    assert partitions(desk, "orders") == 5


def test_one_refused_topic_does_not_spoil_the_others(desk: Desk) -> None:
    desk.create("orders", partitions=2)
    desk.create("bills", partitions=2)
    found = add(
        desk,
        CreatePartitionsTopic("bills", 2, None),
        CreatePartitionsTopic("unknown", 3, None),
        CreatePartitionsTopic("orders", 3, None),
    )
    assert found == {
        "bills": ErrorCode.INVALID_PARTITIONS,
        "unknown": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "orders": ErrorCode.NONE,
    }
    assert (partitions(desk, "bills"), partitions(desk, "orders")) == (2, 3)


def test_a_request_for_too_many_partitions_is_refused_as_a_whole(desk: Desk) -> None:
    desk.create("orders")
    desk.create("bills")
    topics = [CreatePartitionsTopic(name, 60_000, None) for name in ("orders", "bills")]
    assert set(add(desk, *topics).values()) == {ErrorCode.POLICY_VIOLATION}
    assert (partitions(desk, "bills"), partitions(desk, "orders")) == (1, 1)


def test_the_replicas_of_new_partitions_can_be_named(desk: Desk) -> None:
    desk.register(2)
    desk.create("orders")
    given = [CreatePartitionsAssignment([2]), CreatePartitionsAssignment([1])]
    assert add(desk, CreatePartitionsTopic("orders", 3, given)) == {"orders": ErrorCode.NONE}
    topic = desk.image.topic("orders")
    assert topic is not None
    assert [record.replicas for record in topic.partitions[1:] if record] == [(2,), (1,)]


def test_as_many_replicas_as_new_partitions_must_be_named(desk: Desk) -> None:
    desk.create("orders")
    given = [CreatePartitionsAssignment([1])]
    found = add(desk, CreatePartitionsTopic("orders", 3, given))
    assert found == {"orders": ErrorCode.INVALID_REPLICA_ASSIGNMENT}


def test_a_topic_that_comes_twice_gets_no_partitions(desk: Desk) -> None:
    desk.create("orders")
    twice = [CreatePartitionsTopic("orders", count, None) for count in (2, 3)]
    assert add(desk, *twice) == {"orders": ErrorCode.INVALID_REQUEST}
    assert partitions(desk, "orders") == 1


def test_validate_only_adds_nothing(desk: Desk) -> None:
    desk.create("orders")
    topic = CreatePartitionsTopic("orders", 2, None)
    assert add(desk, topic, validate_only=True) == {"orders": ErrorCode.NONE}
    assert partitions(desk, "orders") == 1


def test_a_failure_as_a_whole_is_told_for_every_topic(desk: Desk) -> None:
    call = desk.call(CreatePartitionsRequest([CreatePartitionsTopic("orders", 2, None)]))
    answer = call.api.failure(call.request, ErrorCode.REQUEST_TIMED_OUT, "no store")
    (result,) = desk.decoded(answer, 3).results
    assert (result.name, result.error_code) == ("orders", ErrorCode.REQUEST_TIMED_OUT)
