"""What clients are told while a topic loses partitions, and afterwards."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.desk import NOW_MS, Desk
from tests.api.grouping import GROUP, Room, commit
from tests.api.reducing import NONCE, begin, close_all, reduce_to
from tests.raw_client import a_batch, fetch_of, frame_of, partition_of, produce_of

from penstock.api.handlers.k00_produce_single import produce_single
from penstock.coordination.group.offsets import note_strays
from penstock.errors import ErrorCode
from penstock.metadata.changes import add_partitions
from penstock.wire.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from penstock.wire.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from penstock.wire.messages.k16_list_groups import ListGroupsRequest
from penstock.wire.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from penstock.wire.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.wire.messages.k75_describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)

WITH_IDS = 13


@pytest.fixture
def orders(desk: Desk) -> Desk:
    desk.create("orders", partitions=4)
    for index in range(4):
        desk.append("orders", index)
    return desk


def produce(
    desk: Desk,
    partition: int,
    topic: str = "orders",
    topic_id: bytes = b"",
    batch: bytes = a_batch(b"x"),
) -> Any:
    """The answer for the partition; by id if there is one."""
    request = produce_of(topic, batch, partition=partition, acks=1, topic_id=topic_id or bytes(16))
    (told,) = desk.ask(request, WITH_IDS if topic_id else 9).responses
    (answer,) = told.partition_responses
    return answer


def described(desk: Desk, name: str = "orders") -> Any:
    (topic,) = desk.ask(DescribeTopicPartitionsRequest([TopicRequest(name)])).topics
    return topic


def metadata(desk: Desk, **asked: Any) -> Any:
    (topic,) = desk.ask(MetadataRequest([MetadataRequestTopic(**asked)])).topics
    return topic


def test_while_partitions_are_closing_everyone_sees_all_of_them(orders: Desk) -> None:
    begin(orders, "orders", 2)
    told = metadata(orders, name="orders")
    assert len(told.partitions) == 4
    assert told.open_partitions == 2, "which clients of ours know"
    assert produce(orders, 3).error_code == ErrorCode.NONE


def test_who_writes_to_closing_partitions_is_told(orders: Desk) -> None:
    begin(orders, "orders", 2)
    for partition in (0, 3):
        produce(orders, partition)
    told = described(orders)
    assert (told.open_partitions, told.closing_since_ms, told.closed_ms) == (2, NOW_MS, -1)
    writers = [
        [(each.client_id, each.last_ms) for each in part.writers] for part in told.partitions
    ]
    assert writers == [[], [], [], [("test", NOW_MS)]]


def test_a_closed_partition_is_not_written_to_and_the_others_are(orders: Desk) -> None:
    begin(orders, "orders", 2)
    close_all(orders, "orders")
    answer = produce(orders, 2)
    assert answer.error_code == ErrorCode.NOT_ENOUGH_REPLICAS, "so clients try again"
    assert "is closed" in answer.error_message
    assert produce(orders, 1).error_code == ErrorCode.NONE
    assert partition_of(orders.ask(fetch_of("orders", partition=2), 12)).high_watermark == 1
    assert described(orders).closed_ms == NOW_MS + 1


def test_a_batch_that_a_closed_partition_has_is_answered_as_the_repeat_it_is(orders: Desk) -> None:
    """Its producer has not heard of it, and would send it again to another partition."""
    producer: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0}
    first, second, third, other = (
        a_batch(b"x", **{**producer, **more})
        for more in (
            {"base_sequence": 0},
            {"base_sequence": 1},
            {"base_sequence": 2},
            {"base_sequence": 0, "producer_epoch": 1},
        )
    )
    before = produce(orders, 2, batch=first)
    begin(orders, "orders", 2)
    close_all(orders, "orders")
    again = produce(orders, 2, batch=first)
    assert (again.error_code, again.base_offset) == (ErrorCode.NONE, before.base_offset)
    for new in (second, third, other):
        refused = produce(orders, 2, batch=new)
        assert refused.error_code == ErrorCode.NOT_ENOUGH_REPLICAS, "also where one is left out"
    assert orders.broker.leader("orders", 2).log.end_offset == before.base_offset + 1


def test_the_short_way_does_not_lead_into_a_closed_partition(orders: Desk) -> None:
    begin(orders, "orders", 2)
    close_all(orders, "orders")
    for partition, is_taken in ((0, True), (2, False)):
        request = produce_of("orders", a_batch(b"x"), partition=partition, acks=1)
        frame = memoryview(bytearray(frame_of(request, 9)))[4:]
        done = produce_single(orders.broker, frame, NOW_MS)
        assert (done is not None) == is_taken


def test_a_topic_with_fewer_partitions_is_shown_under_a_new_id(orders: Desk) -> None:
    before = orders.image.topics["orders"].shown_id
    shown_id = reduce_to(orders, "orders", 2)
    told = metadata(orders, name="orders")
    assert (told.topic_id, len(told.partitions), told.open_partitions) == (shown_id, 2, -1)
    assert metadata(orders, topic_id=shown_id).name == "orders"
    assert metadata(orders, topic_id=before).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert described(orders).topic_id == shown_id


def test_records_go_on_after_those_that_were_there(orders: Desk) -> None:
    before = orders.image.topics["orders"].shown_id
    shown_id = reduce_to(orders, "orders", 2)
    assert produce(orders, 1, topic_id=shown_id).base_offset == 1
    assert produce(orders, 1).base_offset == 2
    assert produce(orders, 1, topic_id=before).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    gone = produce(orders, 2, topic_id=shown_id).error_code
    assert gone == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_consumer_fetches_by_the_new_id_and_no_more_by_the_old_one(orders: Desk) -> None:
    before = orders.image.topics["orders"].shown_id
    shown_id = reduce_to(orders, "orders", 2)
    for topic_id, code in ((shown_id, ErrorCode.NONE), (before, ErrorCode.UNKNOWN_TOPIC_ID)):
        request = fetch_of("", partition=1)
        request.topics[0].topic_id = topic_id
        assert partition_of(orders.ask(request, WITH_IDS)).error_code == code


def test_what_is_left_is_read_under_another_name_and_not_written(orders: Desk) -> None:
    reduce_to(orders, "orders", 2)
    told = metadata(orders, name="orders.sealed-1")
    assert len(told.partitions) == 2
    fetched = partition_of(orders.ask(fetch_of("orders.sealed-1", partition=1), 12))
    assert (fetched.error_code, fetched.high_watermark) == (ErrorCode.NONE, 1)
    assert fetched.records
    answer = produce(orders, 1, "orders.sealed-1")
    assert answer.error_code == ErrorCode.POLICY_VIOLATION
    assert "is only read" in answer.error_message
    assert described(orders, "orders.sealed-1").sealed_from == "orders"


def test_partitions_that_come_later_begin_with_nothing(orders: Desk) -> None:
    reduce_to(orders, "orders", 2)
    orders.change(lambda image: add_partitions(image, "orders", 4, nonce=NONCE))
    assert produce(orders, 3).base_offset == 0
    fetched = partition_of(orders.ask(fetch_of("orders.sealed-1", partition=1), 12))
    assert fetched.high_watermark == 1


def test_a_broker_that_is_started_again_finds_all_logs(orders: Desk) -> None:
    reduce_to(orders, "orders", 2)
    produce(orders, 1)
    orders.broker.leader("orders", 1).log.write_out()
    again = orders.restart()
    for name, end in (("orders", 2), ("orders.sealed-1", 1)):
        assert again.broker.leader(name, 1).log.end_offset == end


def test_a_topic_is_deleted_by_the_id_that_is_shown(orders: Desk) -> None:
    before = orders.image.topics["orders"].shown_id
    shown_id = reduce_to(orders, "orders", 2)

    def delete(topic_id: bytes) -> Any:
        state = DeleteTopicState(None, topic_id)
        return orders.ask(DeleteTopicsRequest(topics=[state])).responses[0]

    assert delete(before).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    answer = delete(shown_id)
    assert (answer.error_code, answer.name, answer.topic_id) == (0, "orders", shown_id)


def test_a_topic_of_the_same_name_that_is_made_later_is_another_one(orders: Desk) -> None:
    reduce_to(orders, "orders", 2)
    orders.ask(DeleteTopicsRequest(topics=[DeleteTopicState("orders")]))
    made = CreatableTopic("orders", 1, 1)
    (topic,) = orders.ask(CreateTopicsRequest([made])).topics
    assert topic.topic_id == orders.image.topics["orders"].shown_id


# -- groups


def reduced_room(room: Room) -> tuple[bytes, bytes]:
    """The ids that the topic was shown under before, and is now."""
    before = room.desk.image.topics["orders"].shown_id
    return before, reduce_to(room.desk, "orders", 1)


def committed(room: Room, *indexes: int, topic: str = "orders") -> list[int]:
    wanted = OffsetFetchRequestTopics(topic, partition_indexes=list(indexes))
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=[wanted])])
    (group,) = room.tell(request, 9).groups
    return [part.committed_offset for topic in group.topics for part in topic.partitions]


def test_offsets_of_what_remains_are_kept_and_the_others_forgotten(room: Room) -> None:
    room.tell(commit(partitions=(0, 1)))
    assert committed(room, 0, 1) == [5, 5]
    reduced_room(room)
    assert committed(room, 0, 1) == [5, -1]
    room.desk.change(lambda image: add_partitions(image, "orders", 2, nonce=NONCE))
    assert committed(room, 0, 1) == [5, -1], "the new partition is another one"


def test_a_group_goes_on_in_the_sealed_topic_where_it_was(room: Room) -> None:
    """At once, also before its coordinator has carried the offset over, and ever after."""
    room.tell(commit(partitions=(0, 1)))
    reduced_room(room)
    assert committed(room, 0, topic="orders.sealed-1") == [5]
    room.shard().look_after(room.shard().kept.get_or_add(GROUP), note_strays)
    room.wait(0)
    assert sorted(room.shard().kept.get_or_add(GROUP).offsets) == ["orders", "orders.sealed-1"]
    room.tell(commit(7, topic="orders.sealed-1"))
    again = room.restart()
    again.load()
    assert committed(again, 0, topic="orders.sealed-1") == [7]
    assert committed(again, 0) == [5]


def test_a_member_that_has_not_heard_of_the_new_id_can_commit(room: Room) -> None:
    before, shown_id = reduced_room(room)
    for topic_id in (before, shown_id):
        answer = room.tell(commit(topic="", topic_id=topic_id), 10)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE


def test_a_commit_in_a_partition_that_is_gone_is_taken_and_forgotten(room: Room) -> None:
    """Or Java's consumers would wait with their rebalance until it is taken."""
    reduced_room(room)
    answer = room.tell(commit(partitions=(0, 1, 2)))
    codes = [part.error_code for part in answer.topics[0].partitions]
    assert codes == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert committed(room, 0, 1) == [5, -1]


def test_groups_that_read_a_topic_are_told_by_who_covers_them(room: Room) -> None:
    room.tell(commit(group="idle"))
    room.settle()
    answer = room.tell(ListGroupsRequest(reads_topic="orders"))
    told = {group.group_id: group.is_reading for group in answer.groups}
    assert told == {"idle": False, GROUP: True}
    assert sorted(answer.coordinated) == [0, 1, 2]
    assert not room.tell(ListGroupsRequest(reads_topic="payments")).groups
