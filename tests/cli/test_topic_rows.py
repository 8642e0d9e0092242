"""What `topic describe` shows of a partition whose leader does not know everything yet."""

from __future__ import annotations

from tests.client.scripted import ScriptedBroker, client_of, cluster
from tests.client.test_offsets import told

from penstock.cli.topic_describe import partition_rows
from penstock.errors import ErrorCode
from penstock.wire.messages import ApiKey
from penstock.wire.messages.k35_describe_log_dirs import DescribeLogDirsResponse
from penstock.wire.messages.k46_list_partition_reassignments import (
    ListPartitionReassignmentsResponse,
)
from penstock.wire.messages.k75_describe_topic_partitions import DescribeTopicPartitionsResponse


def test_a_new_leader_without_a_high_watermark_is_described_and_not_waited_for() -> None:
    unsure = told({0: ErrorCode.OFFSET_NOT_AVAILABLE})
    broker = (
        ScriptedBroker()
        .answers(ApiKey.METADATA, cluster({0: 1, 1: 1}))
        .answers(ApiKey.LIST_OFFSETS, told({}), unsure, told({}))
        .answers(
            ApiKey.LIST_PARTITION_REASSIGNMENTS, lambda _: ListPartitionReassignmentsResponse()
        )
        .answers(ApiKey.DESCRIBE_TOPIC_PARTITIONS, lambda _: DescribeTopicPartitionsResponse())
        .answers(ApiKey.DESCRIBE_LOG_DIRS, lambda _: DescribeLogDirsResponse())
    )
    with client_of({1: broker}) as client:
        rows, failures = partition_rows(client, client.topic("t"))
    assert failures == {}
    assert [row["high_watermark"] for row in rows] == [None, 7]
    assert [row["end"] for row in rows] == [7, 7]
