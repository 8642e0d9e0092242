from __future__ import annotations

from tests.api.desk import NOW_MS, Desk

from penstock.errors import ErrorCode
from penstock.log.recovery import recover
from penstock.wire.messages.k61_describe_producers import (
    DescribeProducersRequest,
    PartitionResponse,
    TopicRequest,
)


def ask(desk: Desk, index: int = 0) -> PartitionResponse:
    request = DescribeProducersRequest([TopicRequest("orders", [index])])
    (partition,) = desk.ask(request).topics[0].partitions
    assert isinstance(partition, PartitionResponse)
    return partition


def test_a_producer_is_described_by_what_it_wrote_last(desk: Desk) -> None:
    desk.create("orders")
    desk.append("orders", count=3, producer_id=7, producer_epoch=2, base_sequence=0)
    (producer,) = ask(desk).active_producers
    assert (producer.producer_id, producer.producer_epoch) == (7, 2)
    assert (producer.last_sequence, producer.last_timestamp) == (2, NOW_MS), "when it wrote"
    assert producer.current_txn_start_offset == -1


def test_producers_are_known_after_a_restart(desk: Desk) -> None:
    desk.create("orders")
    desk.append("orders", count=3, producer_id=7, producer_epoch=2, base_sequence=0)
    assert [each.producer_id for each in ask(desk.restart()).active_producers] == [7]


def test_of_a_producer_that_a_crash_left_in_the_log_only_its_last_batch_is_described(
    desk: Desk,
) -> None:
    desk.create("orders")
    desk.append("orders", producer_id=7, producer_epoch=2, base_sequence=0, first_ms=NOW_MS - 9)
    log = desk.broker.leader("orders", 0).log
    for _ in recover(log):
        pass
    (producer,) = ask(desk).active_producers
    assert producer.last_timestamp == NOW_MS - 9


def test_who_writes_without_an_id_is_not_described(desk: Desk) -> None:
    desk.create("orders")
    desk.append("orders")
    assert ask(desk).active_producers == []


def test_a_partition_that_is_not_there_is_refused(desk: Desk) -> None:
    desk.create("orders")
    found = ask(desk, index=4)
    assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert found.error_message
