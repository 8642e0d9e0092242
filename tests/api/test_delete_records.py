from __future__ import annotations

import pytest
from tests.api.desk import Desk

from penstock.errors import ErrorCode
from penstock.wire.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)


def delete(
    desk: Desk, offset: int, index: int = 0, version: int = 2
) -> DeleteRecordsPartitionResult:
    topic = DeleteRecordsTopic("orders", [DeleteRecordsPartition(index, offset)])
    (partition,) = desk.ask(DeleteRecordsRequest([topic], 1000), version).topics[0].partitions
    assert isinstance(partition, DeleteRecordsPartitionResult)
    return partition


@pytest.mark.parametrize("version", range(3))
def test_the_start_moves_to_the_offset(desk: Desk, version: int) -> None:
    desk.create("orders")
    desk.append("orders", count=10)
    result = delete(desk, 4, version=version)
    assert (result.error_code, result.low_watermark) == (0, 4)
    assert desk.broker.leader("orders", 0).log.start_offset == 4


def test_minus_one_deletes_up_to_the_high_watermark(desk: Desk) -> None:
    desk.create("orders")
    desk.append("orders", count=10)
    assert delete(desk, -1).low_watermark == 10


def test_an_offset_before_the_start_changes_nothing(desk: Desk) -> None:
    desk.create("orders")
    desk.append("orders", count=10)
    delete(desk, 5)
    assert delete(desk, 3).low_watermark == 5


def test_segments_below_the_start_are_dropped_to_be_removed_later(desk: Desk) -> None:
    desk.create("orders", segment_bytes="1024", file_delete_delay_ms="7")
    for _ in range(5):
        desk.append("orders", count=50)
    delete(desk, 210)
    (dropped,) = desk.broker.take_dropped()
    assert dropped.delay_ms == 7
    assert dropped.paths
    assert all(desk.disk.exists(path) for path in dropped.paths)
    assert desk.broker.take_dropped() == []


@pytest.mark.parametrize("offset", [11, -2])
def test_an_offset_that_is_not_committed_is_refused(desk: Desk, offset: int) -> None:
    desk.create("orders")
    desk.append("orders", count=10)
    result = delete(desk, offset)
    assert (result.error_code, result.low_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


def test_a_compacted_topic_keeps_its_records(desk: Desk) -> None:
    desk.create("orders", cleanup_policy="compact")
    desk.append("orders")
    assert delete(desk, 1).error_code == ErrorCode.POLICY_VIOLATION


def test_a_partition_that_is_not_there_is_refused(desk: Desk) -> None:
    desk.create("orders")
    assert delete(desk, 0, index=3).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_of_a_partition_that_comes_twice_the_last_offset_counts(desk: Desk) -> None:
    desk.create("orders")
    desk.append("orders", count=10)
    asked = [DeleteRecordsPartition(0, 7), DeleteRecordsPartition(0, 3)]
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic("orders", asked)])
    (topic,) = desk.ask(request).topics
    assert [part.low_watermark for part in topic.partitions] == [3]
