from __future__ import annotations

import pytest
from tests.api.desk import NOW_MS, Desk

from penstock.errors import ErrorCode
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5


def ask(
    desk: Desk, timestamp: int, version: int = 9, index: int = 0, epoch: int = -1
) -> ListOffsetsPartitionResponse:
    wanted = ListOffsetsPartition(index, epoch if version >= 4 else -1, timestamp)
    request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("orders", [wanted])])
    (partition,) = desk.ask(request, version).topics[0].partitions
    assert isinstance(partition, ListOffsetsPartitionResponse)
    return partition


@pytest.fixture
def orders(desk: Desk) -> Desk:
    """Records 0 to 9 a millisecond apart, then 10 to 14 a second later."""
    desk.create("orders")
    desk.append("orders", count=10)
    desk.append("orders", count=5, first_ms=NOW_MS + 1000)
    return desk


@pytest.mark.parametrize("version", range(1, 10))
def test_the_start_and_the_end_are_told(orders: Desk, version: int) -> None:
    assert ask(orders, EARLIEST, version).offset == 0
    assert ask(orders, LATEST, version).offset == 15


def test_the_start_moves_when_records_are_deleted(orders: Desk) -> None:
    orders.broker.advance_start(orders.broker.leader("orders", 0), 4)
    assert ask(orders, EARLIEST).offset == ask(orders, EARLIEST_LOCAL).offset == 4


@pytest.mark.parametrize(
    ("after_ms", "offset", "found_after_ms"),
    [(-5, 0, 0), (0, 0, 0), (3, 3, 3), (10, 10, 1000), (1004, 14, 1004)],
)
def test_a_time_has_the_first_record_that_is_not_older(
    orders: Desk, after_ms: int, offset: int, found_after_ms: int
) -> None:
    found = ask(orders, NOW_MS + after_ms)
    assert (found.offset, found.timestamp) == (offset, NOW_MS + found_after_ms)
    assert found.leader_epoch == 0


def test_a_time_after_all_records_has_no_offset(orders: Desk) -> None:
    found = ask(orders, NOW_MS + 2000)
    assert (found.error_code, found.offset, found.timestamp) == (0, -1, -1)


def test_the_record_with_the_largest_timestamp_is_found(orders: Desk) -> None:
    orders.append("orders", first_ms=NOW_MS - 1000)
    found = ask(orders, MAX_TIMESTAMP)
    assert (found.offset, found.timestamp) == (14, NOW_MS + 1004)


def test_nothing_is_tiered(orders: Desk) -> None:
    assert ask(orders, LATEST_TIERED).offset == -1


def test_an_empty_partition_begins_and_ends_at_zero(desk: Desk) -> None:
    desk.create("orders")
    assert ask(desk, EARLIEST).offset == ask(desk, LATEST).offset == 0
    assert ask(desk, MAX_TIMESTAMP).offset == ask(desk, NOW_MS).offset == -1


def test_the_end_and_its_epoch_are_known_after_a_restart(orders: Desk) -> None:
    found = ask(orders.restart(), LATEST)
    assert (found.offset, found.leader_epoch) == (15, 0)


def test_what_is_not_there_is_refused_by_partition(orders: Desk) -> None:
    assert ask(orders, LATEST, index=1).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(orders, LATEST, epoch=5).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert ask(orders, -9).error_code == ErrorCode.INVALID_REQUEST
