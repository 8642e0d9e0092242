"""What there is to know of topics and groups at this moment, as rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from penstock.client import offsets
from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.group_listing import list_groups
from penstock.client.group_offsets import committed_offsets, end_and_lag, with_known_lags
from penstock.client.locating import known_bounds
from penstock.client.metadata import Topic

RATE_MS = 60_000
"""Rates are over the last minute, by the records' timestamps."""


class PartitionRow(NamedTuple):
    topic: str
    partition: int
    leader: int | None
    replicas: int
    in_sync: int
    start_offset: int | None
    end_offset: int | None
    records: int | None
    """At most: markers of transactions and compacted records have offsets, too."""
    size_bytes: int | None
    """Of the largest replica."""
    records_per_second: float | None


class TopicRow(NamedTuple):
    topic: str
    partitions: int
    replicas: int
    records: int
    size_bytes: int
    size_bytes_of_replicas: int
    records_per_second: float
    under_replicated: int
    """Partitions with fewer replicas in sync than there are."""
    unknown: int
    """Partitions that have no leader, of which nothing is counted."""


class GroupRow(NamedTuple):
    group: str
    kind: str
    state: str
    topic: str | None
    partition: int | None
    committed: int | None
    end_offset: int | None
    lag: int | None
    lag_ms: int | None


Report = Callable[[WireClient], list[Any]]


def partitions(client: WireClient) -> list[PartitionRow]:
    return [row for topic in _topics(client) for row in _partition_rows(client, topic)]


def topics(client: WireClient) -> list[TopicRow]:
    return [_topic_row(client, topic) for topic in _topics(client)]


def groups(client: WireClient) -> list[GroupRow]:
    """A row for each partition that a group has an offset in, or one with none."""
    return [
        row
        for each in list_groups(client)
        for row in _group_rows(client, each.name, each.kind, each.state)
    ]


REPORTS: dict[str, tuple[type[Any], Report]] = {
    "topics": (TopicRow, topics),
    "partitions": (PartitionRow, partitions),
    "groups": (GroupRow, groups),
}


def _topics(client: WireClient) -> list[Topic]:
    told = client.retry(lambda deadline: client.metadata(deadline=deadline)).topics
    return [topic for _, topic in sorted(told.items()) if not topic.is_internal]


def _partition_rows(client: WireClient, topic: Topic) -> list[PartitionRow]:
    bounds = known_bounds(client, [(topic.name, index) for index in topic.partitions])
    ends = {index: end for (_, index), (_, end) in bounds.items()}
    sizes = _sizes(client, topic)
    rates = _rates(client, topic.name, ends)
    return [
        PartitionRow(
            topic.name,
            index,
            each.leader if each.leader >= 0 else None,
            len(each.replicas),
            len(each.in_sync),
            *_span(bounds.get((topic.name, index))),
            max(sizes.get(index, ()), default=None),
            rates.get(index),
        )
        for index, each in sorted(topic.partitions.items())
    ]


def _topic_row(client: WireClient, topic: Topic) -> TopicRow:
    rows = _partition_rows(client, topic)
    sizes = _sizes(client, topic).values()
    return TopicRow(
        topic.name,
        len(rows),
        max((row.replicas for row in rows), default=0),
        sum(row.records or 0 for row in rows),
        sum(row.size_bytes or 0 for row in rows),
        sum(map(sum, sizes)),
        sum(row.records_per_second or 0.0 for row in rows),
        sum(row.in_sync < row.replicas for row in rows),
        sum(row.records is None for row in rows),
    )


def _span(bounds: tuple[int, int] | None) -> tuple[int | None, int | None, int | None]:
    """Start, end, and what lies between."""
    return (None, None, None) if bounds is None else (*bounds, bounds[1] - bounds[0])


def _sizes(client: WireClient, topic: Topic) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for each in offsets.replica_sizes(client, topic.name, topic.partitions):
        found.setdefault(each.partition, []).append(each.size_bytes)
    return found


def _rates(client: WireClient, topic: str, ends: Mapping[int, int]) -> dict[int, float]:
    since_ms = time.time_ns() // 1_000_000 - RATE_MS
    if not ends:
        return {}
    found = offsets.offsets_at(client, topic, dict.fromkeys(ends, since_ms))
    return {
        index: (max(0, ends[index] - each.offset) if each.offset >= 0 else 0) * 1000 / RATE_MS
        for index, each in found.items()
    }


def _group_rows(client: WireClient, name: str, kind: str, state: str) -> Iterable[GroupRow]:
    try:
        committed = with_known_lags(client, committed_offsets(client, name))
    except ClientError:  # it went away just now, or keeps its offsets elsewhere
        committed = {}
    if not committed:
        return [GroupRow(name, kind, state, None, None, None, None, None, None)]
    bounds = known_bounds(client, committed)
    return [
        GroupRow(
            name,
            kind,
            state,
            *place,
            each.offset,
            *end_and_lag(each, bounds.get(place)),
            each.lag_ms,
        )
        for place, each in committed.items()
    ]
