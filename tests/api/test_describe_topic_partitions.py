from __future__ import annotations

from typing import Any

from tests.api.desk import Desk

from penstock.errors import ErrorCode
from penstock.metadata.changes import Commit
from penstock.metadata.records import PartitionRecord, broker_key, encode, partition_key
from penstock.wire.messages.k75_describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)


def describe(desk: Desk, *names: str, limit: int = 2000, cursor: Cursor | None = None) -> Any:
    topics = [TopicRequest(name) for name in names]
    return desk.ask(DescribeTopicPartitionsRequest(topics, limit, cursor))


def shape(answer: Any) -> list[tuple[str, list[int]]]:
    return [
        (topic.name, [each.partition_index for each in topic.partitions]) for topic in answer.topics
    ]


def test_topics_come_in_the_order_of_their_names(desk: Desk) -> None:
    orders = desk.create("orders", partitions=2)
    desk.create("bills")
    answer = describe(desk, "orders", "bills", "orders")
    assert shape(answer) == [("bills", [0]), ("orders", [0, 1])]
    assert answer.topics[1].topic_id == orders
    assert answer.next_cursor is None


def test_an_empty_list_asks_for_all_topics(desk: Desk) -> None:
    desk.create("orders")
    desk.create("bills")
    assert shape(describe(desk)) == [("bills", [0]), ("orders", [0])]


def test_partitions_say_who_leads_and_who_is_in_sync(desk: Desk) -> None:
    desk.register(2)
    desk.create("orders", replication=2)
    (partition,) = describe(desk, "orders").topics[0].partitions
    assert sorted(partition.replica_nodes) == sorted(partition.isr_nodes) == [1, 2]
    assert partition.leader_id in (1, 2)
    assert (partition.error_code, partition.leader_epoch) == (0, 0)
    assert partition.offline_replicas == []


def test_a_leader_that_is_not_alive_is_none(desk: Desk) -> None:
    desk.create("orders")
    desk.change(lambda image: Commit(None, deletes=[broker_key(1)]))
    (partition,) = describe(desk, "orders").topics[0].partitions
    assert (partition.error_code, partition.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    assert partition.offline_replicas == [1]


def test_topics_that_there_are_not_are_told_apart(desk: Desk) -> None:
    desk.create("a.b")
    answer = describe(desk, "unknown", "no/name", "a_b")
    assert {topic.name: topic.error_code for topic in answer.topics} == {
        "a_b": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "no/name": ErrorCode.INVALID_TOPIC,
        "unknown": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_a_cursor_goes_on_where_the_answer_before_ended(desk: Desk) -> None:
    for name, partitions in (("a", 3), ("b", 2), ("c", 5)):
        desk.create(name, partitions=partitions)
    pieces, cursor = [], None
    while True:
        answer = describe(desk, limit=4, cursor=cursor)
        pieces.append(shape(answer))
        cursor = answer.next_cursor
        if cursor is None:
            break
    assert pieces == [
        [("a", [0, 1, 2]), ("b", [0])],
        [("b", [1]), ("c", [0, 1, 2])],
        [("c", [3, 4])],
    ]


def test_an_answer_that_is_full_at_the_end_of_a_topic_points_to_the_next(desk: Desk) -> None:
    desk.create("a", partitions=2)
    desk.create("b")
    answer = describe(desk, limit=2)
    assert shape(answer) == [("a", [0, 1])]
    assert answer.next_cursor == Cursor("b", 0)


def test_names_without_a_topic_take_no_room(desk: Desk) -> None:
    desk.create("b", partitions=2)
    answer = describe(desk, "a/a", "a1", "b", "c", limit=2)
    assert shape(answer) == [("a/a", []), ("a1", []), ("b", [0, 1])]
    assert answer.next_cursor == Cursor("c", 0)


def test_the_limit_is_at_least_one_and_at_most_2000(desk: Desk) -> None:
    desk.create("wide", partitions=2001)
    assert describe(desk, limit=1_000_000).next_cursor == Cursor("wide", 2000)
    assert describe(desk, limit=0).next_cursor == Cursor("wide", 1)


def test_a_topic_deleted_meanwhile_is_passed_over(desk: Desk) -> None:
    desk.create("b")
    assert shape(describe(desk, cursor=Cursor("a", 7))) == [("b", [0])]


def test_a_cursor_that_cannot_be_is_refused(desk: Desk) -> None:
    desk.create("a")
    for cursor in (Cursor("a", -1), Cursor("b", 0)):
        (topic,) = describe(desk, "a", cursor=cursor).topics
        assert topic.error_code == ErrorCode.INVALID_REQUEST


def test_partitions_say_who_could_lead_though_it_is_not_in_sync(desk: Desk) -> None:
    desk.register(2)
    topic_id = desk.create("orders", replication=2)
    record = PartitionRecord(replicas=(1, 2), leader=1, isr=(1,), eligible=(2,))
    put = partition_key(topic_id, 0), encode(record)
    desk.change(lambda image: Commit(None, puts=[put]))
    (partition,) = describe(desk, "orders").topics[0].partitions
    assert (partition.isr_nodes, partition.eligible_leader_replicas) == ([1], [2])
