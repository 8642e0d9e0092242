"""Where partitions begin and end, what lies at a point in time, their sizes; and cutting them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError, check
from penstock.wire.codec import Message
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from penstock.wire.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from penstock.wire.messages.k35_describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)

M = TypeVar("M", bound=Message)
T = TypeVar("T")

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
"""In place of a timestamp: the high watermark, the log's start, the newest record."""

_CONSUMER, _OBSERVER = -1, -2
"""Who asks: an observer is told of what no consumer may see yet."""


class Found(NamedTuple):
    offset: int
    """-1 if there is none, that is, no record is so late."""
    timestamp: int


class ReplicaSize(NamedTuple):
    broker: int
    partition: int
    size_bytes: int


def offsets_at(
    client: WireClient, topic: str, timestamps: Mapping[int, int], *, replica_id: int = _CONSUMER
) -> dict[int, Found]:
    """For each partition, the first record that is not older than the timestamp given for it."""

    def request(indexes: list[int]) -> Message:
        wanted = [
            ListOffsetsPartition(partition_index=index, timestamp=timestamps[index])
            for index in indexes
        ]
        return ListOffsetsRequest(
            replica_id=replica_id, topics=[ListOffsetsTopic(topic, wanted)], timeout_ms=_ms(client)
        )

    return _ask_leaders(client, topic, timestamps, ListOffsetsResponse, request, _offsets)


def ends(client: WireClient, topic: str, indexes: Iterable[int], which: int) -> dict[int, int]:
    """The offset LATEST or EARLIEST of each partition."""
    found = offsets_at(client, topic, dict.fromkeys(indexes, which))
    return {index: each.offset for index, each in found.items()}


def log_ends(client: WireClient, topic: str, indexes: Iterable[int]) -> dict[int, int]:
    """Past the last record of each partition, those that are not committed yet included."""
    wanted = dict.fromkeys(indexes, LATEST)
    found = offsets_at(client, topic, wanted, replica_id=_OBSERVER)
    return {index: each.offset for index, each in found.items()}


def delete_records(client: WireClient, topic: str, before: Mapping[int, int]) -> dict[int, int]:
    """Drops what lies before these offsets; gives where each partition begins now."""

    def request(indexes: list[int]) -> Message:
        wanted = [DeleteRecordsPartition(index, before[index]) for index in indexes]
        return DeleteRecordsRequest([DeleteRecordsTopic(topic, wanted)], _ms(client))

    return _ask_leaders(client, topic, before, DeleteRecordsResponse, request, _low_watermarks)


def replica_sizes(client: WireClient, topic: str, indexes: Iterable[int]) -> list[ReplicaSize]:
    """What every broker that can be reached holds of these partitions."""
    wanted = DescribableLogDirTopic(topic, list(indexes))
    request = DescribeLogDirsRequest(topics=[wanted])
    deadline = client.deadline()
    requests = dict.fromkeys(client.brokers(deadline), request)
    found = []
    answers = client.ask_nodes(requests, DescribeLogDirsResponse, deadline)
    for node, answer in answers.items():
        if not isinstance(answer, ClientError):
            found += _sizes(node, topic, answer)
    return found


def _ask_leaders(
    client: WireClient,
    topic: str,
    wanted: Mapping[int, int],
    kind: type[M],
    request: Callable[[list[int]], Message],
    read: Callable[[str, M], dict[int, T]],
) -> dict[int, T]:
    """Asks each leader for its share, and all again where one has moved: it does no harm here."""

    def attempt(deadline: float) -> dict[int, T]:
        shares = client.topic(topic, deadline=deadline).by_leader(wanted)
        requests = {node: request(share) for node, share in shares.items()}
        found: dict[int, T] = {}
        for answer in client.ask_nodes(requests, kind, deadline).values():
            if isinstance(answer, ClientError):
                raise answer
            found.update(read(topic, answer))
        return dict(sorted(found.items()))

    return client.retry(attempt)


def _offsets(topic: str, answer: ListOffsetsResponse) -> dict[int, Found]:
    found = {}
    for told in answer.topics:
        for each in told.partitions:
            check(f"{topic}-{each.partition_index}", each.error_code)
            found[each.partition_index] = Found(each.offset, each.timestamp)
    return found


def _low_watermarks(topic: str, answer: DeleteRecordsResponse) -> dict[int, int]:
    found = {}
    for told in answer.topics:
        for each in told.partitions:
            check(f"{topic}-{each.partition_index}", each.error_code)
            found[each.partition_index] = each.low_watermark
    return found


def _sizes(node: int, topic: str, answer: DescribeLogDirsResponse) -> list[ReplicaSize]:
    return [
        ReplicaSize(node, each.partition_index, each.partition_size)
        for folder in answer.results
        for told in folder.topics
        if told.name == topic
        for each in told.partitions
        if not each.is_future_key
    ]


def _ms(client: WireClient) -> int:
    return int(client.timeout_s * 1000)
