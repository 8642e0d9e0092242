from __future__ import annotations

import pytest
from tests.api.desk import Desk

from penstock.wire.messages.k35_describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)


def sizes(result: DescribeLogDirsResult) -> dict[tuple[str, int], int]:
    return {
        (topic.name, each.partition_index): each.partition_size
        for topic in result.topics
        for each in topic.partitions
    }


@pytest.mark.parametrize("version", range(1, 5))
def test_every_partition_has_a_size_those_never_written_have_none(desk: Desk, version: int) -> None:
    desk.create("orders", partitions=3)
    desk.append("orders", 1, count=10)
    (result,) = desk.ask(DescribeLogDirsRequest(None), version).results
    assert (result.error_code, result.log_dir) == (0, desk.log_dir.path)
    size = desk.broker.leader("orders", 1).log.size_bytes
    assert size > 0
    assert sizes(result) == {("orders", 0): 0, ("orders", 1): size, ("orders", 2): 0}


def test_only_what_is_asked_for_and_there_is_told(desk: Desk) -> None:
    desk.create("orders", partitions=3)
    desk.create("bills")
    wanted = [DescribableLogDirTopic("orders", [2, 9]), DescribableLogDirTopic("unknown", [0])]
    (result,) = desk.ask(DescribeLogDirsRequest(wanted)).results
    assert set(sizes(result)) == {("orders", 2)}


def test_partitions_on_other_brokers_are_not_told(desk: Desk) -> None:
    desk.register(2)
    desk.create("orders", partitions=4)
    (result,) = desk.ask(DescribeLogDirsRequest(None)).results
    assert len(sizes(result)) == 2


def test_the_disk_has_a_size_and_room(desk: Desk) -> None:
    (result,) = desk.ask(DescribeLogDirsRequest(None)).results
    assert 0 < result.usable_bytes <= result.total_bytes


async def test_logs_are_not_opened_to_be_measured(desk: Desk) -> None:
    desk.create("orders", partitions=2)
    desk.append("orders", 1, count=10)
    size = desk.broker.leader("orders", 1).log.size_bytes
    again = desk.restart()
    (result,) = (await again.ask_and_wait(DescribeLogDirsRequest(None))).results
    assert sizes(result) == {("orders", 0): 0, ("orders", 1): size}
    assert not any(log.is_open for log in again.log_dir.logs.values())
